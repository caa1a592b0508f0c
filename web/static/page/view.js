// What the player shows: waveform, level, figures, times between frames. It draws when something has
// changed, once in a frame of the screen at most.

import { byId, write } from "./dom.js";
import { OUTCOMES, clock, milliseconds, spoken, summary } from "./words.js";
import { drawStrip, drawWave } from "./waveform.js";

const SLOW = 200; // ms between changes of text, and of drawings where less motion is wanted
const EXPECTED = 2; // seconds of width at least, so that a short beginning does not fill it

/** PlayerView shows one take. */
export class PlayerView {
  /** @param {{position: (take) => number, player: () => object, output: () => object}} sources */
  constructor(sources) {
    this.sources = sources;
    this.take = null;
    this.due = false;
    this.lastText = 0;
    this.lastDrawn = 0;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.touch());
    new ResizeObserver(() => this.touch()).observe(byId("wave"));
  }

  show(take) {
    this.take = take;
    this.lastText = 0;
    this.refresh();
  }

  /** touch has it drawn soon. */
  touch() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame((now) => {
      this.due = false;
      this.draw(now);
    });
  }

  /** refresh shows a change of state at once. */
  refresh() {
    this.lastText = 0;
    this.lastDrawn = 0;
    this.touch();
  }

  draw(now) {
    const player = this.sources.player();
    const mine = player.take === this.take && this.take !== null;
    if (now - this.lastText >= SLOW) {
      this.lastText = now;
      this.texts(player, mine);
    }
    if (this.calm.matches && now - this.lastDrawn < SLOW) return this.again();
    this.lastDrawn = now;
    const level = mine && player.state === "playing" ? player.level.peak : 0;
    byId("level-bar").style.transform = `scaleX(${Math.min(1, level ** 0.5)})`;
    this.wave();
    return undefined;
  }

  again() {
    setTimeout(() => this.touch(), SLOW);
  }

  total() {
    const { take } = this;
    if (take.over) return take.pcm.seconds;
    return Math.max(EXPECTED, take.pcm.seconds, take.live ? 0 : take.policy?.expected ?? 0);
  }

  wave() {
    const { take } = this;
    const canvas = byId("wave-canvas");
    if (!take) {
      canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
      return;
    }
    drawWave(canvas, take, this.sources.position(take), this.total());
  }

  texts(player, mine) {
    const { take } = this;
    const state = !take ? "empty" : mine ? player.state : "idle";
    const box = byId("player");
    box.dataset.state = take && !take.over && state === "waiting" && take.pcm.length === 0 ? "waiting" : take ? "shown" : "empty";
    const playing = state === "playing" || state === "waiting";
    const play = byId("play");
    play.toggleAttribute("data-playing", playing);
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    play.disabled = !take || (take.pcm.length === 0 && (take.over || !mine));
    byId("download").disabled = !take || take.pcm.length === 0;
    const length = take?.pcm.seconds ?? 0;
    const at = take ? this.sources.position(take) : 0;
    write(byId("time"), take ? `${clock(at)} / ${clock(length)}` : clock(0));
    this.range(at, length);
    write(byId("phase"), take ? this.phase(player, state) : "");
    this.figures(player, mine);
    drawStrip(byId("strip-canvas"), take?.frames ?? []);
    write(byId("strip-text"), take ? summary(take.frames) : "");
    byId("meter").value = mine ? player.level.rms : 0;
  }

  range(at, length) {
    const range = byId("position");
    range.disabled = length === 0;
    const total = this.take ? this.total() : 0;
    range.max = String(total);
    if (document.activeElement !== range || !range.matches(":active")) range.value = String(at);
    range.setAttribute("aria-valuetext", `${spoken(at)} of ${spoken(length)}`);
  }

  phase(player, state) {
    const { take } = this;
    if (take.state === "failed" && take.pcm.length === 0) return "Failed";
    if (state === "waiting" && take.pcm.length === 0) return "Waiting for the first sound";
    if (state === "waiting" && !player.going) {
      const need = player.need();
      if (!Number.isFinite(need) || need - player.lead < 0.2) return "Beginning";
      return `Slower than real time: gathering ${player.lead.toFixed(1)} of ${need.toFixed(1)} s`;
    }
    if (state === "waiting" && !take.over) return take.live ? "Waiting for words" : "Waiting for the server";
    if (state === "paused" && !take.over) return "Paused";
    return OUTCOMES[take.over ? take.state : ""] ? capital(OUTCOMES[take.state]) : "";
  }

  figures(player, mine) {
    const { take } = this;
    const figure = (id, value, note) => {
      const node = byId(id);
      if (node.textContent === value + (note ?? "")) return;
      node.textContent = value;
      if (note) {
        const small = document.createElement("small");
        small.textContent = note;
        node.append(small);
      }
    };
    if (!take) {
      for (const id of ["first", "rtf", "lead", "underruns"]) figure(id, "–");
      return;
    }
    figure("first", take.firstSound === null ? "–" : milliseconds(take.firstSound), take.serverFirst === null ? "" : ` server ${milliseconds(take.serverFirst)}`);
    const running = take.policy && !take.over && take.policy.arrivals > 1 ? 1 / take.policy.rate() : null;
    const rtf = take.rtf ?? running;
    figure("rtf", rtf === null || !Number.isFinite(rtf) ? "–" : rtf.toFixed(2), rtf ? ` ${(1 / rtf).toFixed(1)}× real time` : "");
    figure("lead", mine ? `${Math.max(0, player.lead).toFixed(1)} s` : "–");
    figure("underruns", String(take.underruns));
  }
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
