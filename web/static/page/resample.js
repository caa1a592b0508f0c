// A resampler that goes on across chunks: the same samples come out however the input was cut.

const REACH = 16; // samples to either side
const STEPS = 512; // positions between two samples for which the filter is tabled

/** Resampler turns samples of one rate into samples of another, by a windowed sinc. */
export class Resampler {
  constructor(from, to) {
    this.from = from;
    this.to = to;
    this.table = from === to ? null : filter(Math.min(1, to / from));
    this.reset();
  }

  reset() {
    this.kept = new Float32Array(REACH); // input that coming output still needs
    this.offset = -REACH; // of kept[0], in input samples
    this.out = 0; // output samples so far
    this.taken = 0; // input samples so far
  }

  /** push takes input and returns what can be computed. */
  push(samples) {
    if (!this.table) return samples;
    this.taken += samples.length;
    return this.compute(samples, Infinity);
  }

  /** finish returns the rest: exactly as much as makes the length that of the input. */
  finish() {
    if (!this.table) return new Float32Array(0);
    return this.compute(new Float32Array(REACH + 1), Math.round((this.taken * this.to) / this.from));
  }

  compute(samples, most) {
    const input = new Float32Array(this.kept.length + samples.length);
    input.set(this.kept);
    input.set(samples, this.kept.length);
    const step = this.from / this.to;
    const end = this.offset + input.length; // exclusive
    const room = Math.floor((end - 1 - REACH) / step) + 1 - this.out;
    const n = Math.max(0, Math.min(room, most - this.out));
    const output = new Float32Array(n);
    for (let i = 0; i < n; i++) output[i] = this.at(input, (this.out + i) * step - this.offset);
    this.out += n;
    const first = Math.max(0, Math.min(input.length, Math.floor(this.out * step) - REACH + 1 - this.offset));
    this.kept = input.slice(first);
    this.offset += first;
    return output;
  }

  at(input, position) {
    const whole = Math.floor(position);
    const place = (position - whole) * STEPS;
    const row = Math.floor(place);
    const part = place - row;
    const { table } = this;
    const a = row * 2 * REACH;
    let sum = 0;
    for (let k = 0; k < 2 * REACH; k++) {
      const weight = table[a + k] + part * (table[a + 2 * REACH + k] - table[a + k]);
      sum += weight * input[whole - REACH + 1 + k];
    }
    return sum;
  }
}

/** filter tables a Blackman-windowed sinc that passes so much of the input's band. */
function filter(band) {
  const table = new Float32Array((STEPS + 1) * 2 * REACH);
  const cut = band * 0.97;
  for (let row = 0; row <= STEPS; row++) {
    let sum = 0;
    for (let k = 0; k < 2 * REACH; k++) {
      const x = k - REACH + 1 - row / STEPS;
      const w = 0.42 + 0.5 * Math.cos((Math.PI * x) / REACH) + 0.08 * Math.cos((2 * Math.PI * x) / REACH);
      const value = x === 0 ? cut : Math.sin(Math.PI * cut * x) / (Math.PI * x);
      table[row * 2 * REACH + k] = value * w;
      sum += value * w;
    }
    for (let k = 0; k < 2 * REACH; k++) table[row * 2 * REACH + k] /= sum; // a constant stays that constant
  }
  return table;
}
