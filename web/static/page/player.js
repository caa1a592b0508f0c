// Plays takes: keeps the output fed, decides when it may begin, and tells how it goes.

/** Seconds of audio that are handed to the output ahead of what was heard; the rest stays in the take. */
const FEED = 4;
const PIECE = 0.5; // seconds in one message

/**
 * Player plays one take at a time, from any place, while it is still arriving or later. Its events are
 * "change" (state), "stats" (20 times a second), "first" (the first sample of a take is audible), "gap",
 * "over", and "left" (another take is in its place, or none).
 */
export class Player extends EventTarget {
  /** @param {import("./output.js").Output} output */
  constructor(output, clock = () => performance.now() / 1000) {
    super();
    this.output = output;
    this.clock = clock;
    this.take = null;
    this.state = "idle"; // waiting, playing, paused, over
    this.id = 0;
    this.base = 0; // sample from which this run plays
    this.heard = 0; // samples since
    this.fed = 0; // next sample to hand over
    this.going = false;
    this.ended = false;
    this.level = { peak: 0, rms: 0 };
    this.silence = 0; // seconds of it within what was played
    output.ontell = (m) => this.told(m);
  }

  /** play begins a take at a sample. Audio that is still to come follows by itself. */
  play(take, from = 0) {
    this.put(take);
    this.run(this.within(from));
    this.output.post({ type: "pause", on: false });
    this.set("waiting");
    this.advance();
  }

  /** put has a take be the one that is played, without beginning it. */
  put(take) {
    if (take === this.take) return;
    this.take = take;
    this.dispatchEvent(new Event("left"));
  }

  /** within is the whole sample of the take that is nearest. */
  within(sample) {
    return Math.max(0, Math.min(Math.round(sample), this.take.pcm.length));
  }

  run(from) {
    this.id++;
    this.base = from;
    this.fed = from;
    this.heard = 0;
    this.going = false;
    this.ended = false;
    this.output.post({ type: "reset", id: this.id, rate: this.take.pcm.rate, faded: from > 0 });
  }

  /** advance hands over what can be, and lets playback begin when it may. It is called whenever the take has changed. */
  advance() {
    const { take } = this;
    if (!take || this.state === "idle" || this.state === "over") return;
    const { pcm } = take;
    const limit = Math.min(pcm.length, this.position + FEED * pcm.rate);
    while (this.fed < limit) {
      const to = Math.min(limit, this.fed + PIECE * pcm.rate);
      const from = this.fed;
      this.fed = to;
      this.output.post({ type: "pcm", id: this.id, pcm: pcm.slice(from, to) });
    }
    if (take.over && this.fed === pcm.length && !this.ended) {
      this.ended = true;
      this.output.post({ type: "end", id: this.id });
    }
    this.decide();
  }

  decide() {
    if (this.going || !this.take) return;
    if (this.need() <= this.lead + 1e-9) {
      this.going = true;
      const seconds = this.take.over ? 0 : Math.min(this.need(), FEED / 2);
      this.output.post({ type: "go", id: this.id, seconds });
    }
  }

  /** need is the lead in seconds that playback waits for. */
  need() {
    const { take } = this;
    return take.over || !take.policy ? 0 : take.policy.need(this.clock(), this.position / take.pcm.rate);
  }

  /** position is the sample that is heard next. */
  get position() {
    return this.base + this.heard;
  }

  /** lead is how many seconds are there that were not heard. */
  get lead() {
    return this.take ? (this.take.pcm.length - this.position) / this.take.pcm.rate : 0;
  }

  pause() {
    if (this.state !== "playing" && this.state !== "waiting") return;
    this.output.post({ type: "pause", on: true });
    this.set("paused");
  }

  resume() {
    if (this.state !== "paused") return;
    this.output.post({ type: "pause", on: false });
    this.set("waiting");
    this.advance();
  }

  /** seek goes on at another sample, paused if it was. */
  seek(sample) {
    if (!this.take) return;
    const paused = this.state === "paused" || this.state === "over" || this.state === "idle";
    this.run(this.within(sample));
    if (paused) this.output.post({ type: "pause", on: true });
    this.set(paused ? "paused" : "waiting");
    this.advance();
    this.dispatchEvent(new Event("stats"));
  }

  /** stop falls silent within 5 ms. The take stays where it was left. */
  stop() {
    if (!this.take || this.state === "idle" || this.state === "over") return;
    const at = this.position;
    this.run(at);
    this.output.post({ type: "pause", on: true });
    this.level = { peak: 0, rms: 0 };
    this.set("paused");
  }

  /** leave lets go of the take. */
  leave() {
    this.stop();
    this.put(null);
    this.set("idle");
  }

  told(m) {
    if (m.id !== this.id || !this.take) return;
    this.heard = m.played;
    this.silence = m.silence;
    this.level = { peak: m.peak, rms: m.rms };
    if (m.begins) this.dispatchEvent(new Event("first"));
    if (m.gap) this.gap();
    if (m.ends) {
      this.set("over");
      this.dispatchEvent(new Event("over"));
    } else if (this.state === "playing" || this.state === "waiting") {
      this.set(m.playing ? "playing" : "waiting");
    }
    this.advance();
    this.dispatchEvent(new Event("stats"));
  }

  gap() {
    const { take } = this;
    if (take.policy?.live) { // the text has not gone on
      this.output.post({ type: "go", id: this.id, seconds: this.need(), forgiven: true });
      return;
    }
    take.underruns++;
    if (take.policy) take.policy.gaps++;
    if (this.need() > this.lead) {
      this.going = false;
      this.output.post({ type: "hold", id: this.id });
    }
    this.dispatchEvent(new Event("gap"));
  }

  set(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }
}
