// A take: one request, all of its audio, and what became of it. The audio stays, so that it can be heard
// again, searched and saved; it takes 48 kB a second.

const BLOCK = 1 << 16; // samples
/** Seconds for which a waveform has one pair of values. */
export const PEAK_SECONDS = 0.02;

/** Pcm is a growing recording of signed 16-bit samples. */
export class Pcm {
  constructor(rate) {
    this.rate = rate;
    this.blocks = [];
    this.length = 0; // samples
    this.peaks = []; // largest size in each PEAK_SECONDS, 0 to 1
    this.each = Math.round(rate * PEAK_SECONDS);
  }

  get seconds() {
    return this.length / this.rate;
  }

  append(samples) {
    for (let at = 0; at < samples.length; ) {
      const used = this.length % BLOCK;
      if (used === 0) this.blocks.push(new Int16Array(BLOCK));
      const n = Math.min(BLOCK - used, samples.length - at);
      this.blocks[this.blocks.length - 1].set(samples.subarray(at, at + n), used);
      at += n;
      this.length += n;
    }
    this.measure(samples);
  }

  measure(samples) {
    let at = this.length - samples.length;
    for (let i = 0; i < samples.length; i++, at++) {
      const index = Math.floor(at / this.each);
      const size = Math.abs(samples[i]) / 32768;
      if (index === this.peaks.length) this.peaks.push(size);
      else if (size > this.peaks[index]) this.peaks[index] = size;
    }
  }

  /** slice copies samples out. */
  slice(from, to = this.length) {
    const out = new Int16Array(Math.max(0, Math.min(to, this.length) - from));
    for (let at = 0; at < out.length; ) {
      const inBlock = (from + at) % BLOCK;
      const n = Math.min(BLOCK - inBlock, out.length - at);
      out.set(this.blocks[Math.floor((from + at) / BLOCK)].subarray(inBlock, inBlock + n), at);
      at += n;
    }
    return out;
  }

  /** clear lets the memory go. */
  clear() {
    this.blocks = [];
    this.length = 0;
    this.peaks = [];
  }
}

/** Bytes before the samples of a WAV file of wav. */
export const HEAD = 44;

/** wav is a recording as the bytes of a WAV file. */
export function wav(pcm) {
  const data = 2 * pcm.length;
  const bytes = new ArrayBuffer(HEAD + data);
  const view = new DataView(bytes);
  const tag = (at, name) => [...name].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  tag(0, "RIFF");
  view.setUint32(4, 36 + data, true);
  tag(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, pcm.rate, true);
  view.setUint32(28, 2 * pcm.rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  tag(36, "data");
  view.setUint32(40, data, true);
  new Int16Array(bytes, HEAD).set(pcm.slice(0));
  return bytes;
}

/** How a take stands. From "done" on nothing more happens to it. */
export const STATES = ["waiting", "speaking", "done", "cut", "stopped", "failed"];

/** Take is one request and its answer. */
export class Take {
  constructor({ id, text, settings, rate = 24000, live = false }) {
    this.id = id;
    this.text = text;
    this.settings = settings;
    this.live = live;
    this.pcm = new Pcm(rate);
    this.state = "waiting";
    this.seed = null;
    this.voice = settings.voice || "";
    this.warnings = []; // what the server doubts about a voice to imitate
    this.error = null;
    this.frames = []; // seconds between arrivals of audio, in their order
    this.firstSound = null; // seconds from the click
    this.serverFirst = null; // seconds, as the server has it
    this.computed = 0; // seconds that the server computed, for so many seconds spoken
    this.spoken = 0;
    this.underruns = 0;
    this.created = new Date();
  }

  /** rtf is the server's computing time over the length of the audio, null before it is known. */
  get rtf() {
    return this.spoken > 0 ? this.computed / this.spoken : null;
  }

  get over() {
    return STATES.indexOf(this.state) >= STATES.indexOf("done");
  }
}
