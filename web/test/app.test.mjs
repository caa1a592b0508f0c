import assert from "node:assert/strict";
import test from "node:test";

import { AudioContext, byId, press } from "./browser.mjs";
import { Fake, settled } from "./fake.mjs";

/** opened is the page with a server that is well; sound waits for nobody. */
async function opened() {
  AudioContext.state = "suspended";
  globalThis.WebSocket = Fake;
  globalThis.fetch = async (url) => ({
    status: 200,
    json: async () => (url.pathname.endsWith("models") ? { data: [{ id: "m", languages: [], cloning: true }] } : { voices: [{ id: "one", name: "one" }, { id: "two", name: "two" }] }),
  });
  const page = await import("../static/page/app.js");
  for (let i = 0; i < 5; i++) await settled();
  assert.equal(page.state().health.state, "ready");
  Fake.all[0].say({ type: "session.created", utterance_index: 0 });
  await settled();
  return { page, socket: Fake.all[0], voice: byId("composer").elements.namedItem("voice") };
}

test("trying again speaks with the settings of the take, whatever the form has by now", async () => {
  const { page, socket, voice } = await opened();
  voice.value = "one";
  byId("text").value = "Hello.";
  byId("composer").fire("submit");
  await settled();
  socket.say({ type: "session.updated" });
  socket.say({ type: "error", code: "queue_full", message: "busy", utterance_index: 0, fatal: false });
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "error" });
  await settled();
  assert.equal(byId("notice-action").textContent, "Try again");
  voice.value = "two";
  byId("notice-action").onclick({ timeStamp: 1 });
  await settled();
  const { take } = page.state().speech;
  assert.deepEqual(socket.sent.filter((m) => m.type === "session.config").map((m) => m.voice), ["one"], "the server keeps it");
  assert.deepEqual(socket.sent.filter((m) => m.type === "input.text").map((m) => m.text), ["Hello.", "Hello."]);
  assert.deepEqual([take.settings, take.voice], [{ voice: "one" }, "one"]);

  page.state().speech.stop();
  byId("composer").fire("submit");
  await settled();
  assert.equal(page.state().speech.take.settings.voice, "two", "a new take has the form's");
});

test("a text that is used again has the voice of its take, also where another was brought along since", async () => {
  const buttons = [];
  const { createElement } = document;
  document.createElement = (tag) => {
    const made = createElement(tag);
    if (tag === "button") buttons.push(made);
    return made;
  };
  let level = 0;
  globalThis.OfflineAudioContext = class {
    async decodeAudioData() { return { length: 24000, numberOfChannels: 1, getChannelData: () => new Float32Array(24000).fill(level) }; }
  };
  globalThis.FileReader = class {
    async readAsDataURL(blob) {
      this.result = `data:audio/wav;base64,${Buffer.from(await blob.arrayBuffer()).toString("base64")}`;
      this.onload();
    }
  };
  const page = await import("../static/page/app.js");
  const bring = async (size) => {
    level = size;
    byId("clone").fire("drop", { dataTransfer: { files: [new Blob([Uint8Array.of(1)])] } });
    for (let i = 0; i < 10; i++) await settled();
  };
  const speak = () => {
    page.state().speech.stop();
    byId("text").value = "Hello.";
    byId("composer").fire("submit");
    return page.state().speech.take;
  };
  const first = speak();
  await bring(0.5);
  const second = speak();
  await bring(0.25);
  const third = speak();
  assert.deepEqual([first.settings.voice, second.settings.voice, third.settings.voice], ["two", undefined, undefined]);
  assert.notEqual(second.settings.ref_audio, third.settings.ref_audio);
  const again = buttons.filter((b) => b.title === "Use this text and voice again");
  for (const [i, take] of [first, second, third].entries()) {
    again[i].onclick();
    assert.deepEqual(speak().settings, take.settings);
  }
  page.state().speech.stop();
});

test("words that cannot be sent stay where they were typed, and only what was not sent is kept", async () => {
  const page = await import("../static/page/app.js");
  const kept = [];
  sessionStorage.setItem = (_, text) => kept.push(text);
  const form = byId("composer");
  const type = (text) => {
    byId("text").value = text;
    byId("text").fire("input");
    return byId("text").value;
  };
  form.elements.mode.value = "live";
  form.reportValidity = () => false; // a seed of letters
  const { speech: before } = page.state();
  assert.equal(type("Hello the"), "Hello the");
  byId("finish").fire("click");
  assert.deepEqual([byId("text").value, page.state().speech], ["Hello the", before]);
  delete form.reportValidity;
  assert.deepEqual([type("Hello ther"), page.state().speech.take.text, kept.at(-1)], ["ther", "Hello ", "ther"]);
});

test("Esc stops, unless it is for a word that is being composed", async () => {
  const page = await import("../static/page/app.js");
  const { take } = page.state().speech;
  press({ key: "Escape", isComposing: true });
  assert.equal(take.over, false);
  press({ key: "Escape" });
  assert.equal(take.state, "stopped");
});

test("a text that was typed is complete when the page goes back to whole texts", async () => {
  const page = await import("../static/page/app.js");
  byId("text").value = "Hello there";
  byId("text").fire("input");
  byId("example").fire("click");
  const socket = Fake.all.at(-1);
  socket.say({ type: "session.created", utterance_index: 0 });
  await settled();
  socket.say({ type: "session.updated" });
  assert.deepEqual(socket.sent.map((m) => m.text ?? m.type), ["session.config", "Hello ", "input.done"]);
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "stop" });
  assert.equal(page.state().speech.take.state, "done");
});

test("a key that is wrong is said to be, one that is right opens", async () => {
  const page = await import("../static/page/app.js");
  const { health } = page.state();
  const { fetch } = globalThis;
  globalThis.fetch = async () => { throw new TypeError("failed to fetch"); };
  await health.check();
  globalThis.fetch = async (url, options) => (url.pathname.endsWith("ready") || options.headers.Authorization === "Bearer good" ? fetch(url) : { status: 401, json: async () => ({}) });
  await health.check();
  assert.equal(health.state, "locked");
  const give = async (key) => {
    byId("notice").hidden = true;
    byId("notice-text").textContent = "";
    byId("key").value = key;
    byId("key-form").fire("submit");
    for (let i = 0; i < 10; i++) await settled();
    return [health.state, byId("notice").hidden, byId("notice-text").textContent];
  };
  assert.deepEqual(await give("bad"), ["locked", false, "The server does not take this key."]);
  const late = health.check(); // with the bad one
  assert.deepEqual(await give(" good "), ["ready", true, ""]);
  await late;
});
