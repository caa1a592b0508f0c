// What both ways of sounding share: it takes the player's messages, keeps a Playback, and tells how it
// stands. The AudioWorklet runs it on the audio thread; where there is none, a timer runs it on the page's.

import { Playback, floats } from "./ring.js";
import { Resampler } from "./resample.js";

/** Times a second that stats are told. */
const STATS_RATE = 20;

export class SoundEngine {
  /**
   * @param {number} rate of the output
   * @param {(message: object) => void} tell
   */
  constructor(rate, tell) {
    this.rate = rate;
    this.tell = tell;
    this.source = rate;
    this.playback = new Playback(rate);
    this.resampler = new Resampler(rate, rate);
    this.id = 0; // of the audio that is played; messages about others are late
    this.since = 0; // samples since stats were told
    this.began = false;
    this.saidOver = false;
    this.gaps = 0;
  }

  /** receive acts on a message of the player. Memory is got here, never in pull. */
  receive(m) {
    if (m.type === "reset") return this.reset(m);
    if (m.type === "pause") this.playback.paused = m.on;
    if (m.id !== this.id) return undefined;
    switch (m.type) {
      case "pcm":
        this.playback.write(this.resampler.push(floats(m.pcm)));
        break;
      case "end":
        this.playback.write(this.resampler.finish());
        this.playback.end();
        break;
      case "go":
        this.playback.go(Math.round(m.seconds * this.rate), m.forgiven);
        break;
      case "hold":
        this.playback.hold();
        break;
    }
    return undefined;
  }

  reset({ id, rate, faded }) {
    this.id = id;
    if (rate !== this.source) {
      this.source = rate;
      this.resampler = new Resampler(rate, this.rate);
    }
    this.resampler.reset();
    this.playback.reset(faded);
    this.playback.underruns = 0;
    this.playback.silent = 0;
    this.began = false;
    this.saidOver = false;
    this.gaps = 0;
  }

  /** pull fills a block and tells what is worth telling. */
  pull(out) {
    const p = this.playback;
    p.pull(out);
    this.since += out.length;
    const begins = !this.began && p.played > 0;
    const ends = !this.saidOver && p.over;
    const gap = p.underruns > this.gaps;
    if (!begins && !ends && !gap && this.since * STATS_RATE < this.rate) return;
    this.began ||= begins;
    this.saidOver ||= ends;
    this.gaps = p.underruns;
    this.since = 0;
    const stats = p.stats();
    const toSource = this.source / this.rate;
    stats.type = "stats";
    stats.id = this.id;
    stats.played = Math.round(stats.played * toSource);
    stats.buffered = Math.round(stats.buffered * toSource);
    stats.silence = stats.silent / this.rate;
    stats.begins = begins;
    stats.ends = ends;
    stats.gap = gap;
    this.tell(stats);
  }
}
