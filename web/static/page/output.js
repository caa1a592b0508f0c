// The way to the loudspeaker: an AudioWorklet where there is one, else buffers scheduled back to back.
// (AudioWorklet exists on https and localhost only.) One context serves the page for its life.

import { SoundEngine } from "./engine.js";

const worklet = new URL("worklet.js", import.meta.url);

/** Output sounds what it is posted. It tells of it through ontell and of its context through onstate. */
export class Output {
  constructor() {
    this.context = null;
    this.sink = null;
    this.waiting = []; // posted before the sink exists
    this.ontell = () => {};
    this.onstate = () => {};
    this.kind = "none";
  }

  /**
   * wake makes sound possible. It is to be called within a click or key press, before anything is awaited:
   * browsers allow sound to no one else.
   */
  wake(rate) {
    if (!this.context) {
      this.context = createContext(rate);
      this.context.addEventListener("statechange", () => this.onstate(this.context.state));
      this.open().catch((error) => this.schedule(error));
    }
    if (this.context.state !== "running") this.context.resume().catch(() => {}); // statechange tells
  }

  async open() {
    const { context } = this;
    if (!context.audioWorklet) return this.schedule();
    await context.audioWorklet.addModule(worklet);
    const node = new AudioWorkletNode(context, "mynah", { numberOfInputs: 0, outputChannelCount: [1] });
    node.port.onmessage = ({ data }) => this.ontell(data);
    node.connect(context.destination);
    this.use("worklet", (m) => node.port.postMessage(m, m.pcm ? [m.pcm.buffer] : []));
    return undefined;
  }

  schedule() {
    if (this.sink) return;
    const scheduled = new Scheduled(this.context, (m) => this.ontell(m));
    this.use("scheduled", (m) => scheduled.receive(m));
  }

  use(kind, sink) {
    this.kind = kind;
    this.sink = sink;
    for (const m of this.waiting) sink(m);
    this.waiting = [];
  }

  post(message) {
    if (this.sink) this.sink(message);
    else this.waiting.push(message);
  }

  /** rest lets the device sleep until wake. */
  rest() {
    if (this.context?.state === "running") this.context.suspend().catch(() => {});
  }

  get state() {
    return this.context ? this.context.state : "none";
  }

  /** latency is how many seconds a sample takes from the context to the ear. */
  get latency() {
    return this.context ? this.context.outputLatency || this.context.baseLatency || 0 : 0;
  }
}

function createContext(rate) {
  const Context = window.AudioContext || window.webkitAudioContext;
  try {
    return new Context({ sampleRate: rate, latencyHint: "interactive" });
  } catch {
    return new Context({ latencyHint: "interactive" }); // at the device's rate: the engine resamples
  }
}

const TICK = 40; // ms
const AHEAD = 0.12; // s scheduled ahead, in a page that is looked at
const HIDDEN_AHEAD = 1.5; // timers of hidden pages come once a second
const BLOCK = 1024;

/** Scheduled plays through buffer sources, each beginning at the sample at which the one before ends. */
class Scheduled {
  constructor(context, tell) {
    this.context = context;
    this.engine = new SoundEngine(context.sampleRate, tell);
    this.cursor = 0;
    this.renew();
    setInterval(() => this.pump(), TICK);
  }

  renew() {
    this.gain = this.context.createGain();
    this.gain.connect(this.context.destination);
  }

  receive(m) {
    this.engine.receive(m);
    if (m.type === "reset") this.cut();
    queueMicrotask(() => this.pump()); // not now: what it tells may have the player post again
  }

  /** cut fades out what is scheduled. The engine's own end would come after it, from where pulling had got to. */
  cut() {
    const { gain } = this;
    this.engine.playback.hush();
    const now = this.context.currentTime;
    gain.gain.setValueAtTime(1, now);
    gain.gain.linearRampToValueAtTime(0, now + 0.005);
    setTimeout(() => gain.disconnect(), 50);
    this.renew();
    this.cursor = Math.min(this.cursor, now + 0.005);
  }

  pump() {
    if (this.context.state !== "running") return;
    const { sampleRate } = this.context;
    const now = this.context.currentTime;
    const until = now + (document.hidden ? HIDDEN_AHEAD : AHEAD);
    if (this.cursor < now) this.cursor = now + 0.01;
    while (this.cursor < until) {
      const samples = new Float32Array(BLOCK);
      this.engine.pull(samples);
      if (samples.some((x) => x !== 0)) {
        const buffer = this.context.createBuffer(1, BLOCK, sampleRate);
        buffer.copyToChannel(samples, 0);
        const source = this.context.createBufferSource();
        source.buffer = buffer;
        source.connect(this.gain);
        source.start(this.cursor);
      }
      this.cursor += BLOCK / sampleRate;
    }
  }
}
