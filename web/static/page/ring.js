// The part of playback that runs on the audio thread: a ring of samples, and the rules by which they leave
// it. It knows nothing of browsers, so that tests can drive it sample by sample. Nothing here allocates
// while audio is pulled.

/** Seconds of the ramps at gaps, seeks, pauses and stops. Shorter ones click. */
export const RAMP_SECONDS = 0.005;

/** After a gap the level to start again grows by this, up to LONGEST_WAIT seconds. */
export const GROWTH = 1.5;
export const LONGEST_WAIT = 1;

const SHORTEST_WAIT = 0.1;

/** Ring is a queue of float samples. Writing may make it larger, reading never touches memory anew. */
export class Ring {
  constructor(capacity) {
    this.samples = new Float32Array(capacity);
    this.head = 0; // where reading goes on
    this.size = 0;
  }

  /** write takes samples of -1 to 1. Nothing is ever dropped: a full ring doubles. */
  write(samples) {
    if (this.size + samples.length > this.samples.length) this.grow(this.size + samples.length);
    const capacity = this.samples.length;
    const tail = (this.head + this.size) % capacity;
    const first = Math.min(samples.length, capacity - tail);
    this.samples.set(first === samples.length ? samples : samples.subarray(0, first), tail);
    if (first < samples.length) this.samples.set(samples.subarray(first), 0);
    this.size += samples.length;
  }

  grow(least) {
    let capacity = this.samples.length;
    while (capacity < least) capacity *= 2;
    const larger = new Float32Array(capacity);
    const first = Math.min(this.size, this.samples.length - this.head);
    larger.set(this.samples.subarray(this.head, this.head + first), 0);
    larger.set(this.samples.subarray(0, this.size - first), first);
    this.samples = larger;
    this.head = 0;
  }

  /** next takes the oldest sample out. The ring must not be empty. */
  next() {
    const sample = this.samples[this.head];
    this.head = this.head + 1 === this.samples.length ? 0 : this.head + 1;
    this.size--;
    return sample;
  }

  clear() {
    this.head = 0;
    this.size = 0;
  }
}

/** floats converts signed 16-bit samples. */
export function floats(pcm) {
  const out = new Float32Array(pcm.length);
  for (let i = 0; i < pcm.length; i++) out[i] = pcm[i] / 32768;
  return out;
}

/**
 * Playback decides for each sample whether it is audio or silence.
 *
 * Audio waits until it is told to go, and until the level is reached or all of it is there. When the ring
 * runs dry before the end, the last 5 ms fade out, the gap is counted, and audio comes back, faded in, at
 * a level that grows from gap to gap. Where nothing is wrong the samples leave as they came.
 */
export class Playback {
  /** @param {number} rate samples a second */
  constructor(rate, capacity = 8 * rate) {
    this.rate = rate;
    this.ramp = Math.max(1, Math.round(RAMP_SECONDS * rate));
    this.ring = new Ring(capacity);
    this.tail = new Float32Array(this.ramp); // of what was cut off, already faded
    this.tailAt = this.ramp;
    this.underruns = 0;
    this.silent = 0; // samples of silence between the first and the last of the audio
    this.paused = false;
    this.peak = 0; // since stats were read
    this.square = 0;
    this.counted = 0;
    this.renew(false);
  }

  renew(faded) {
    this.playing = false;
    this.held = true;
    this.complete = false;
    this.over = false;
    this.level = 0;
    this.gain = faded ? 0 : 1;
    this.played = 0;
  }

  /** write adds samples. */
  write(samples) {
    this.ring.write(samples);
  }

  /** end says that no more samples come: what is left plays whatever the level. */
  end() {
    this.complete = true;
  }

  /** go lets audio begin once so many samples are there, or more after gaps, unless these are forgiven. */
  go(level, forgiven = false) {
    this.held = false;
    if (!this.playing) this.level = forgiven ? level : Math.max(this.level, level);
  }

  /** hold keeps audio that has not begun, or that a gap has stopped, from beginning. */
  hold() {
    this.held = true;
  }

  /**
   * reset forgets all samples; what is being heard fades out. New ones fade in if they are no beginning. What
   * an earlier reset cut off fades on: a text that takes another's place resets twice in a row.
   */
  reset(faded) {
    if (this.playing) {
      const n = Math.min(this.ring.size, this.ramp);
      this.tailAt = this.ramp - n;
      for (let i = 0; i < n; i++) this.tail[this.tailAt + i] = this.ring.next() * Math.min(this.gain, (n - i) / (n + 1));
    }
    this.ring.clear();
    this.renew(faded);
  }

  /** hush drops what a reset cut off, for those who fade out themselves what they had pulled. */
  hush() {
    this.tailAt = this.ramp;
  }

  /** pull fills a block. */
  pull(out) {
    for (let i = 0; i < out.length; i++) {
      const sample = this.tailAt < this.ramp ? this.tail[this.tailAt++] : this.sample();
      out[i] = sample;
      const size = sample < 0 ? -sample : sample;
      if (size > this.peak) this.peak = size;
      this.square += sample * sample;
    }
    this.counted += out.length;
  }

  sample() {
    if (!this.playing && !this.begin()) {
      if (this.played > 0 && !this.over && !this.paused) this.silent++;
      return 0;
    }
    const left = this.ring.size;
    let target = this.paused ? 0 : 1;
    if (!this.complete && left < this.ramp) target = Math.min(target, left / this.ramp);
    const step = 1 / this.ramp;
    this.gain = target > this.gain ? Math.min(target, this.gain + step) : Math.max(target, this.gain - step);
    const sample = this.ring.next() * this.gain;
    this.played++;
    if (left === 1) this.dry();
    else if (this.paused && this.gain === 0) this.playing = false;
    return sample;
  }

  begin() {
    const { size } = this.ring;
    if (this.over || this.paused) return false;
    if (size === 0) {
      if (this.complete) this.over = true;
      return false;
    }
    if (!this.complete && (this.held || size < this.level)) return false;
    this.playing = true;
    return true;
  }

  dry() {
    this.playing = false;
    if (this.complete) {
      this.over = true;
      return;
    }
    this.gain = 0;
    if (this.paused) return;
    this.underruns++;
    this.level = Math.min(LONGEST_WAIT * this.rate, Math.max(SHORTEST_WAIT * this.rate, Math.round(this.level * GROWTH)));
  }

  /** stats tells how playback stands; peak and rms are of the time since it was last asked. */
  stats() {
    const s = {
      played: this.played, buffered: this.ring.size, underruns: this.underruns, silent: this.silent, playing: this.playing,
      over: this.over, peak: this.peak, rms: this.counted > 0 ? Math.sqrt(this.square / this.counted) : 0,
    };
    this.peak = 0;
    this.square = 0;
    this.counted = 0;
    return s;
  }
}
