// Watches how the server stands, and learns what it can do.

import { backoff } from "./socket.js";

const CALM = 15_000; // ms between looks at a server that is well
const TIMEOUT = 5_000;

/** Health looks at the server again and again. onchange is told of each new state. */
export class Health {
  constructor(root, { key = () => "" } = {}) {
    this.root = root;
    this.key = key;
    this.state = "connecting"; // ready, loading, draining, offline, locked
    this.attempt = 0;
    this.about = null; // what the server can do
    this.onchange = () => {};
    this.timer = 0;
    this.looking = null;
  }

  /** check looks now. */
  check() {
    clearTimeout(this.timer);
    this.looking ??= this.look().finally(() => {
      this.looking = null;
      this.attempt = this.state === "ready" || this.state === "locked" ? 0 : this.attempt + 1;
      const wait = this.attempt === 0 ? CALM : 1000 * Math.min(8, backoff(this.attempt));
      this.timer = setTimeout(() => { if (!document.hidden) this.check(); }, wait);
    });
    return this.looking;
  }

  async look() {
    this.set(await this.find()); // what onchange throws is a fault of the page, not a server that is away
  }

  /** find asks the server how it stands. */
  async find() {
    try {
      const answer = await this.get("ready");
      if (answer.status !== 200) return answer.body?.error?.code === "shutting_down" ? "draining" : "loading";
      if (this.about === null || this.state !== "ready") {
        const about = await this.learn();
        if (about === null) return "locked";
        this.about = about;
      }
      return "ready";
    } catch {
      return "offline";
    }
  }

  async learn() {
    const [models, voices] = await Promise.all([this.get("v1/models"), this.get("v1/audio/voices")]);
    if (models.status === 401) return null;
    if (models.status !== 200 || voices.status !== 200) throw new Error("not ready");
    return { model: models.body.data[0], voices: voices.body.voices };
  }

  async get(path) {
    const headers = this.key() ? { Authorization: `Bearer ${utf8(this.key())}` } : {};
    const response = await fetch(new URL(path, this.root), { headers, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT) });
    return { status: response.status, body: await response.json().catch(() => null) };
  }

  set(state) {
    const changed = state !== this.state;
    this.state = state;
    if (changed) this.onchange(state);
  }
}

/** utf8 is a text as a header can carry it: fetch takes one character for each byte, and no larger ones. */
function utf8(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
