// When to begin to play. A server that is faster than real time can be heard at once. One that is slower
// cannot keep up, so playback waits for a lead that lasts until the end: a slow machine still sounds whole.

/** Seconds of one frame of speech: the unit in which audio arrives. */
export const FRAME = 0.08;

/** A lead that swallows the unevenness of a server that keeps up: a frame and 20 ms. */
export const LEAST_LEAD = FRAME + 0.02;

const FAST = 1.3; // this rate is above real time whatever the next frames do
const MEASURE = 4; // gaps between arrivals that make a rate of a slower one
const CAUTION = 0.93; // share of a measured rate that is relied on
const SPREAD = 1.2; // what a text takes may be as much above its estimate

/** StartPolicy judges one request by how its audio arrives. Times are in seconds. */
export class StartPolicy {
  /** @param {number} known arrival rate of the request before, 0 if there was none */
  constructor(known = 0, live = false) {
    this.known = known;
    this.live = live; // the text is being typed: what is missing is text, and a lead would only be delay
    this.expected = 0; // length of the whole, as far as it can be told
    this.complete = false;
    this.received = 0;
    this.first = 0; // length of what came first, whose making cannot be told from the wait for it
    this.began = 0;
    this.last = 0;
    this.arrivals = 0;
    this.gaps = 0; // in playback
  }

  /** arrived takes note of audio. */
  arrived(seconds, now) {
    if (this.arrivals === 0) {
      this.began = now;
      this.first = seconds;
    }
    this.arrivals++;
    this.received += seconds;
    this.last = now;
  }

  /** rate is seconds of audio that arrive in a second, 0 while it is not known. */
  rate(now = this.last) {
    if (this.arrivals < 2) return 0;
    const elapsed = this.last - this.began;
    const each = elapsed / (this.arrivals - 1);
    const late = now - this.last - 2 * each; // the next is overdue: time goes on
    return (this.received - this.first) / Math.max(1e-4, elapsed + (this.complete ? 0 : Math.max(0, late)));
  }

  /** reliable is the rate that may be built on; 0 while it is not known. */
  reliable(now) {
    const rate = this.rate(now);
    const known = this.known >= FAST;
    if (rate >= FAST && (known || this.arrivals > 2)) return rate; // two frames may come in one packet
    if (this.arrivals > MEASURE) return rate * CAUTION;
    return rate === 0 && known ? this.known : 0;
  }

  /** need is the lead, in seconds, at which playback may begin; Infinity while that cannot be told. */
  need(now, heard = 0) {
    if (this.complete) return 0;
    if (this.live) return this.arrivals > 0 ? LEAST_LEAD : Infinity;
    const rate = this.reliable(now);
    if (rate === 0) return Infinity;
    if (rate >= 2 * FAST) return FRAME;
    if (rate >= 1) return LEAST_LEAD;
    const spread = SPREAD * (1 + this.gaps / 4);
    const rest = Math.max(this.expected * spread, this.received + 2 * FRAME) - heard;
    return LEAST_LEAD + (1 - rate) * Math.max(0, rest);
  }
}

const LETTER = 0.065; // seconds
const SYLLABLE = 0.2;
const SHORTEST = 0.4;
const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const control = /\p{Cc}/u;

/** estimate is about how many seconds a text takes to be said: the rule of the server's estimated_ms. */
export function estimate(text, speed = 1) {
  let seconds = 0;
  for (const c of text) seconds += dense.test(c) ? SYLLABLE : control.test(c) ? 0 : LETTER;
  return Math.max(SHORTEST, seconds) / (speed || 1);
}
