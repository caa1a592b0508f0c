// The page: joins form, speech, player and history.

import { Speaker } from "../client.js";
import { Code } from "./code.js";
import { byId, save, write } from "./dom.js";
import { Form } from "./form.js";
import { Health } from "./health.js";
import { History } from "./history.js";
import { SENTENCE_PAUSE, UTTERANCE_PAUSE, WORD_PAUSE, settle, speakable } from "./live.js";
import { estimate } from "./policy.js";
import { Take, wav } from "./take.js";
import { PlayerView } from "./view.js";
import { clock, fileName, trouble } from "./words.js";

const KEY = "mynah.key";
const DRAFT = "mynah.draft";
const KEPT_SECONDS = 30 * 60; // of audio in the history; beyond it the oldest is let go
const REST = 20_000; // ms of silence after which the sound device may sleep
const SOUND_PATIENCE = 700; // ms after which a context that does not run is held back by the browser
const EXAMPLE = "The first boats came home before the rain. Nobody had seen them leave, and nobody asked where they had been.";
const STATUS = {
  connecting: "Connecting", ready: "Ready", loading: "Loading the model", draining: "Shutting down", offline: "Server not reached, trying again",
  locked: "Key needed", busy: "Busy",
};

const root = new URL(".", location.href);
const area = byId("text");
const maxInput = Number(document.querySelector("meta[name=max-input]").content) || 4096;

const session = {
  get(name) { try { return sessionStorage.getItem(name) ?? ""; } catch { return ""; } },
  set(name, value) { try { sessionStorage.setItem(name, value); } catch { /* private windows keep nothing */ } },
};

let key = session.get(KEY);
let speaker = null;
let speech = null; // under way: its audio is still arriving
let selected = null; // the take that is shown
let lastSeed = null;
let clicked = 0; // when the speech under way was asked for
const takes = [];

const form = new Form(byId("composer"));
const health = new Health(root, { key: () => key });
const history = new History(byId("takes"), byId("no-takes"), {
  pick: (take) => { select(take); playTake(take, 0); }, save: saveTake, remove: removeTake, reuse: reuseTake,
});
const view = new PlayerView({ position: (take) => positionOf(take), player: () => speaker.player, output: () => speaker.output });
const code = new Code(() => ({ text: ((live() && busy() ? speech.take.text : "") + area.value).trim(), settings: safeSettings(), model: health.about?.model.id ?? "tts-1", keyed: key !== "" }));

// ---- speaking ----

function connect() {
  speaker?.close();
  speaker = new Speaker(root, { key });
  speaker.connection.onlost = (_, reason) => { if (reason !== "idle_timeout") health.check(); };
  const { player, output } = speaker;
  player.addEventListener("first", firstSound);
  player.addEventListener("change", () => { refresh(); sleepLater(); });
  player.addEventListener("over", () => announce(player.take?.state === "cut" ? "Ended early" : "Done"));
  player.addEventListener("stats", () => { view.touch(); listSoon(); });
  output.onstate = () => soundCheck();
}

function live() {
  return form.field("mode").value === "live";
}

function busy() {
  return speech !== null && !speech.take.over;
}

function sounding() {
  return speaker.player.state === "playing" || speaker.player.state === "waiting";
}

function safeSettings() {
  try { return form.settings(); } catch { return {}; }
}

function start(at, settings = form.settings()) {
  hideNotice();
  clicked = at / 1000;
  try {
    speech = speaker.live(settings);
  } catch (error) {
    showNotice(`This browser cannot play sound: ${error.message}`, { bad: true });
    return null;
  }
  const { take } = speech;
  takes.push(take);
  speech.onaudio = () => { view.touch(); listSoon(); };
  speech.complete.then(() => completed(take), (error) => failed(take, error));
  history.add(take);
  select(take);
  setTimeout(soundCheck, SOUND_PATIENCE);
  refresh();
  return speech;
}

function speakWhole(at) {
  const text = area.value;
  if (!speakable(text)) {
    showNotice(text.trim() === "" ? "Write something first." : trouble({ code: "nothing_to_say" }).text, {});
    area.focus();
    return;
  }
  if (!form.check()) return;
  const s = start(at);
  if (!s) return;
  s.take.live = false;
  s.write(text);
  s.end();
  history.update(s.take);
  announce("Speaking");
}

function completed(take) {
  if (take.seed !== null) lastSeed = take.seed;
  if (take.warnings.length > 0) showNotice(`About the voice to imitate: ${take.warnings.join("; ")}.`, {});
  if (take.state === "cut") showNotice("The voice did not come to the end of the text in time, so the take was cut off. Another seed may help.", {});
  if (take.live && speech?.take === take) endTyping();
  trim();
  history.update(take);
  refresh();
}

function failed(take, error) {
  const t = trouble(error);
  const again = t.again && !take.live ? { label: "Try again", act: (e) => speakAgain(take, e.timeStamp), after: error.retryAfter } : null;
  showNotice(t.text, { bad: !t.busy, action: again });
  if (take.live && speech?.take === take) endTyping();
  if (take.pcm.length === 0) {
    speaker.player.stop();
    takes.splice(takes.indexOf(take), 1);
  }
  history.update(take);
  refresh();
  health.check();
}

function speakAgain(take, at) {
  const s = start(at, take.settings); // the form may have others by now
  if (!s) return;
  s.take.live = false;
  s.write(take.text);
  s.end();
}

function stop() {
  if (busy()) speech.stop();
  else speaker.player.stop();
  if (live()) endTyping();
  announce("Stopped");
  refresh();
}

// ---- typing that is heard as it comes ----

let idle = [];

function typed(at, composing) {
  if (!live() || composing || health.state !== "ready") return counted();
  for (const timer of idle) clearTimeout(timer);
  const [ready, rest] = settle(area.value);
  if ((busy() || speakable(ready)) && push(ready, at)) area.value = rest;
  idle = [
    setTimeout(() => { if ((speakable(area.value) || busy()) && push(area.value, performance.now())) { area.value = ""; counted(); } }, WORD_PAUSE * 1000),
    setTimeout(() => busy() && speech.flush(), SENTENCE_PAUSE * 1000),
    setTimeout(() => busy() && speech.rest(), UTTERANCE_PAUSE * 1000),
  ];
  return counted();
}

/** push has a text spoken. What cannot be stays where it was typed. */
function push(text, at) {
  if (text === "") return false;
  if (!busy() || !speech.take.live) {
    if (!form.check() || !start(at)) return false;
    byId("said").replaceChildren();
  }
  speech.write(text);
  byId("said").append(text);
  byId("said").hidden = false;
  byId("said").scrollTop = byId("said").scrollHeight;
  history.update(speech.take);
  return true;
}

function finishTyping() {
  for (const timer of idle) clearTimeout(timer);
  const spoken = speakable(area.value) || (busy() && area.value !== "");
  if (spoken && !push(area.value, performance.now())) return;
  area.value = "";
  if (busy()) speech.end();
  counted();
  refresh();
}

function endTyping() {
  for (const timer of idle) clearTimeout(timer);
  byId("said").hidden = true;
}

// ---- takes ----

function select(take) {
  if (selected !== take && speaker.player.take !== take && speaker.player.take) speaker.player.leave();
  selected = take;
  history.select(take);
  view.show(take);
  refresh();
}

function playTake(take, from) {
  if (take.pcm.length === 0) return;
  speaker.output.wake(take.pcm.rate);
  speaker.player.play(take, from);
  setTimeout(soundCheck, SOUND_PATIENCE);
}

function positionOf(take) {
  return speaker.player.take === take ? speaker.player.position / take.pcm.rate : 0;
}

function playOrPause() {
  const { player } = speaker;
  if (!selected) return;
  if (player.take === selected && sounding()) player.pause();
  else if (player.take === selected && player.state === "paused") {
    speaker.output.wake(selected.pcm.rate);
    if (player.position >= selected.pcm.length && selected.over) player.play(selected);
    else player.resume();
  } else playTake(selected, 0);
  refresh();
}

function seek(seconds) {
  if (!selected) return;
  speaker.output.wake(selected.pcm.rate);
  speaker.player.put(selected);
  speaker.player.seek(seconds * selected.pcm.rate);
  view.touch();
}

function saveTake(take) {
  save(new Blob([wav(take.pcm)], { type: "audio/wav" }), fileName(take.text, take.id));
}

function removeTake(take) {
  if (speech?.take === take && busy()) speech.stop();
  if (speaker.player.take === take) speaker.player.leave();
  if (takes.includes(take)) takes.splice(takes.indexOf(take), 1);
  history.remove(take);
  if (selected === take) {
    selected = null;
    view.show(null);
  }
  byId("takes-title").focus?.();
  refresh();
}

function reuseTake(take) {
  form.fill({ ...take.settings, seed: take.settings.seed ?? "" });
  clone?.recall(take.settings);
  form.changed();
  byId("composer").elements.mode.value = "whole";
  area.value = take.text;
  modeChanged();
  area.focus();
}

let listed = 0;

/** listSoon shows in the list how a take grows, a few times a second. */
function listSoon() {
  const now = performance.now();
  if (!busy() || now - listed < 250) return;
  listed = now;
  history.update(speech.take);
}

/** trim lets the oldest audio go when there is much of it. */
function trim() {
  let sum = 0;
  for (const take of takes.toReversed?.() ?? [...takes].reverse()) {
    sum += take.pcm.seconds;
    if (sum <= KEPT_SECONDS || take === selected || !take.over) continue;
    take.dropped = true;
    take.pcm.clear();
    history.update(take);
  }
}

// ---- what is shown ----

function refresh() {
  const { player } = speaker;
  const stops = busy() || (player.take !== null && sounding());
  const button = byId("speak");
  write(button, stops ? "Stop" : "Speak");
  button.toggleAttribute("data-stop", stops);
  button.hidden = live() && !stops;
  button.disabled = !stops && health.state !== "ready";
  byId("finish").hidden = !(live() && busy() && !speech.closed);
  byId("keep-seed").disabled = lastSeed === null;
  view.refresh();
}

/** counted tells how long the text is, and keeps it for when the page is loaded anew. */
function counted() {
  session.set(DRAFT, area.value);
  const n = [...area.value].length;
  const count = byId("count");
  count.toggleAttribute("data-over", n > maxInput);
  if (n === 0 || live()) write(count, "");
  else if (n > maxInput) write(count, `${n} characters, at most ${maxInput}`);
  else write(count, `${n} characters, about ${clock(estimate(area.value) * speaker.pace).replace(/\.\d$/, "")}`);
  code.update();
}

function modeChanged() {
  area.placeholder = live() ? "Type. Each word is spoken as soon as it is complete." : "Write or paste something to hear.";
  const control = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
  write(byId("hint-text"), live() ? "Words that were sent cannot be changed." : "");
  write(byId("hint-keys"), `${control} Enter ${live() ? "ends the text" : "speaks"}, Esc stops.`);
  if (!live()) {
    endTyping();
    speech?.end(); // or it would wait for more words, which nothing sends any more
  }
  counted();
  refresh();
}

function healthChanged(state) {
  write(byId("status-text"), STATUS[state]);
  byId("status").dataset.state = state;
  byId("key-form").hidden = state !== "locked";
  if (state === "locked") byId("key").focus();
  if (state === "ready") {
    const { model } = health.about;
    write(byId("model"), model.id);
    form.offer(health.about);
    if (model.cloning) offerCloning();
    speaker.connection.connect().catch(() => {}); // so that the first text need not wait for it
  }
  counted();
  refresh();
}

async function unlock(given) {
  key = given;
  session.set(KEY, key);
  connect();
  await health.looking; // with the key of before
  await health.check();
  if (health.state === "locked") showNotice("The server does not take this key.", { bad: true });
  else hideNotice();
}

let cloning = null;
let clone = null; // once it is loaded

/** offerCloning lets a voice be imitated. Other servers do not even load it. */
async function offerCloning() {
  if (cloning) return;
  cloning = import("./clone.js");
  const { Clone } = await cloning;
  clone = new Clone(byId("clone"), {
    set: (fields) => { form.extra = fields; code.update(); },
    listen: (pcm) => {
      const take = new Take({ id: 0, text: "The voice to imitate", settings: {}, rate: pcm.rate });
      take.pcm = pcm;
      take.state = "done";
      select(take);
      playTake(take, 0);
    },
  });
}

function firstSound() {
  const { player, output } = speaker;
  const { take } = player;
  if (!take || take !== speech?.take || take.firstSound !== null) return;
  take.firstSound = player.clock() + output.latency - clicked;
  view.touch();
}

let noticeTimer = 0;

function showNotice(text, { bad = false, action = null }) {
  clearInterval(noticeTimer);
  const box = byId("notice");
  box.dataset.kind = bad ? "bad" : "";
  write(byId("notice-text"), text);
  const button = byId("notice-action");
  button.hidden = !action;
  box.hidden = false;
  if (!action) return;
  button.onclick = (e) => { hideNotice(); action.act(e); };
  let left = Math.ceil(action.after ?? 0);
  const tick = () => {
    button.disabled = left > 0;
    write(button, left > 0 ? `${action.label} in ${left} s` : action.label);
    if (left-- <= 0) clearInterval(noticeTimer);
  };
  tick();
  if (left >= 0) noticeTimer = setInterval(tick, 1000);
}

function hideNotice() {
  clearInterval(noticeTimer);
  byId("notice").hidden = true;
}

/** soundCheck asks for a click where the browser holds sound back. */
function soundCheck() {
  const { output, player } = speaker;
  const held = output.state !== "running" && output.state !== "none" && player.take && sounding();
  const box = byId("notice");
  if (held) {
    showNotice("The browser holds the sound back until you ask for it.", { action: { label: "Play sound", act: () => output.wake(24000) } });
    box.dataset.kind = "held";
  } else if (box.dataset.kind === "held") hideNotice();
}

/** warm opens the way to the loudspeaker at the first touch of the page, so that the first text need not wait for it. */
function warm() {
  try { speaker.output.wake(24000); } catch { /* told when something is to be heard */ }
  sleepLater();
}

let restTimer = 0;

function sleepLater() {
  clearTimeout(restTimer);
  if (!sounding()) restTimer = setTimeout(() => { if (!sounding() && !busy()) speaker.output.rest(); }, REST);
}

function announce(text) {
  write(byId("announce"), text);
}

// ---- events ----

function listen() {
  byId("composer").addEventListener("submit", (e) => {
    e.preventDefault();
    if (byId("speak").hasAttribute("data-stop")) stop();
    else if (health.state === "ready") speakWhole(e.timeStamp);
  });
  byId("finish").addEventListener("click", finishTyping);
  for (const radio of byId("composer").elements.mode) radio.addEventListener("change", modeChanged);
  area.addEventListener("input", (e) => typed(e.timeStamp, e.isComposing));
  area.addEventListener("compositionend", (e) => typed(e.timeStamp, false));
  document.addEventListener("keydown", (e) => {
    if (e.isComposing) return; // the key is for what turns keys into characters
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      if (live()) finishTyping();
      else if (health.state === "ready") speakWhole(e.timeStamp);
    } else if (e.key === "Escape" && (busy() || sounding())) {
      e.preventDefault();
      stop();
    }
  });
  byId("example").addEventListener("click", () => {
    byId("composer").elements.mode.value = "whole";
    area.value = EXAMPLE;
    modeChanged();
    byId("speak").focus();
  });
  byId("keep-seed").addEventListener("click", () => {
    form.field("seed").value = String(lastSeed);
    form.changed();
  });
  byId("play").addEventListener("click", playOrPause);
  byId("download").addEventListener("click", () => selected && saveTake(selected));
  byId("position").addEventListener("input", (e) => seek(Number(e.target.value)));
  byId("notice-close").addEventListener("click", hideNotice);
  byId("key-form").addEventListener("submit", (e) => {
    e.preventDefault();
    unlock(byId("key").value.trim());
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) health.check(); });
  for (const gesture of ["pointerdown", "keydown"]) document.addEventListener(gesture, warm, { once: true });
  window.addEventListener("online", () => health.check());
  window.addEventListener("offline", () => health.check());
}

form.onchange = () => code.update();
health.onchange = healthChanged;
connect();
listen();
area.value = session.get(DRAFT);
modeChanged();
health.check();

/** state is what the page knows, for those who look at it from outside: tests, and the console. */
export const state = () => ({ speaker, speech, selected, takes, health });
