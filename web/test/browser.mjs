// As much of a browser as the page's modules need: elements that remember what was set, a loudspeaker that
// can be looked at, and timers that run when a test says so, or keep nothing alive.

/** ticks are what was to be done again and again. */
export const ticks = [];
globalThis.setInterval = (act) => ticks.push(act);
globalThis.clearInterval = () => {};
const later = globalThis.setTimeout;
globalThis.setTimeout = (act, ms) => {
  const timer = later(act, ms);
  if (ms > 0) timer.unref();
  return timer;
};

/** Element is one of any kind; which are within which is not kept. */
class Element {
  constructor(tag) {
    Object.assign(this, { tagName: tag.toUpperCase(), value: "", textContent: "", hidden: false, dataset: {}, style: {}, attributes: new Map(), heard: new Map() });
    this.classList = { add() {}, remove() {} };
    this.named = new Map();
    this.elements = { namedItem: (name) => of(this.named, name), mode: Object.assign([], { value: "whole" }) };
    this.named.set("mode", this.elements.mode);
  }

  append() {}
  prepend() {}
  remove() {}
  replaceChildren() {}
  focus() {}
  setCustomValidity() {}
  checkValidity() { return true; }
  reportValidity() { return true; }
  setAttribute(name, value) { this.attributes.set(name, value); }
  removeAttribute(name) { this.attributes.delete(name); }
  hasAttribute(name) { return this.attributes.has(name); }
  toggleAttribute(name, on) { if (on) this.attributes.set(name, ""); else this.attributes.delete(name); }
  closest() { return new Element("div"); }
  addEventListener(name, act) { this.heard.set(name, [...(this.heard.get(name) ?? []), act]); }

  /** fire has an event happen. */
  fire(name, event = {}) {
    for (const act of this.heard.get(name) ?? []) act({ preventDefault() {}, timeStamp: 0, target: this, ...event });
  }
}

function of(map, name) {
  if (!map.has(name)) map.set(name, new Element("input"));
  return map.get(name);
}

const all = new Map();
export const byId = (id) => of(all, id);

const root = new Element("html");

/** press is a key that goes down. */
export const press = (event) => root.fire("keydown", event);

const nothing = { getItem: () => null, setItem() {} };
const global = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
global("document", {
  hidden: false,
  getElementById: byId,
  createElement: (tag) => new Element(tag),
  createElementNS: (_, tag) => new Element(tag),
  querySelector: () => ({ content: "4096" }),
  addEventListener: (name, act) => root.addEventListener(name, act),
});
global("window", globalThis);
global("addEventListener", () => {});
global("location", { href: "http://host:1/" });
global("navigator", { platform: "Linux" });
global("sessionStorage", nothing);
global("localStorage", nothing);
global("matchMedia", () => ({ matches: false, addEventListener() {} }));
global("ResizeObserver", class { observe() {} });
global("requestAnimationFrame", () => 0); // nothing is drawn

/** AudioContext is one without a worklet, as over plain http. It keeps what is scheduled. */
export class AudioContext {
  static state = "running";

  constructor({ sampleRate }) {
    Object.assign(this, { sampleRate, state: AudioContext.state, currentTime: 0, destination: {}, sources: [] });
    AudioContext.last = this;
  }

  addEventListener() {}
  async resume() {}
  async suspend() {}

  createGain() {
    let [from, until] = [Infinity, Infinity];
    const gain = { setValueAtTime: (_, t) => { from = t; }, linearRampToValueAtTime: (_, t) => { until = t; } };
    return { gain, connect() {}, disconnect() {}, at: (t) => (t < from ? 1 : Math.max(0, (until - t) / (until - from))) };
  }

  createBuffer(_, n) {
    const samples = new Float32Array(n);
    return { samples, copyToChannel: (from) => samples.set(from) };
  }

  createBufferSource() {
    const source = { buffer: null, connect: (to) => { source.to = to; }, start: (t) => { this.sources.push({ source, t }); } };
    return source;
  }

  /** render is what is heard until a time. */
  render(seconds) {
    const out = new Float32Array(Math.round(seconds * this.sampleRate));
    for (const { source, t } of this.sources) {
      const first = Math.round(t * this.sampleRate);
      source.buffer.samples.forEach((x, i) => {
        if (first + i < out.length) out[first + i] += x * source.to.at((first + i) / this.sampleRate);
      });
    }
    return out;
  }
}
global("AudioContext", AudioContext);
