import assert from "node:assert/strict";
import test from "node:test";

import { LONGEST_WAIT, Playback, Ring, floats } from "../static/page/ring.js";
import { cut, noise, random } from "./random.mjs";

const RATE = 24000;
const RAMP = 120;
const BLOCK = 128;

function pull(playback, blocks = 1) {
  const out = new Float32Array(blocks * BLOCK);
  for (let i = 0; i < blocks; i++) playback.pull(out.subarray(i * BLOCK, (i + 1) * BLOCK));
  return out;
}

test("a ring gives back what was written, in order, however it was cut, and grows", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const next = random(seed);
    const all = floats(noise(5000, next));
    const ring = new Ring(1 + Math.floor(next() * 300));
    const got = [];
    for (const piece of cut(all, 700, next)) {
      ring.write(piece);
      for (let n = Math.floor(next() * ring.size); n > 0; n--) got.push(ring.next());
    }
    while (ring.size > 0) got.push(ring.next());
    assert.deepEqual(Float32Array.from(got), all, `seed ${seed}`);
  }
});

test("where the server is in time the samples leave exactly, the tail included", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const next = random(seed);
    const pcm = noise(1 + Math.floor(next() * 30000), next);
    const playback = new Playback(RATE, 1000);
    playback.reset(false);
    playback.go(Math.floor(next() * 4000));
    const got = [];
    for (const piece of cut(pcm, 4000, next)) {
      playback.write(floats(piece));
      while (playback.ring.size > 2 * RAMP + BLOCK && (playback.playing || playback.ring.size >= playback.level)) got.push(...pull(playback));
    }
    playback.end();
    while (!playback.over) got.push(...pull(playback));
    const first = got.findIndex((x) => x !== 0);
    assert.deepEqual(Float32Array.from(got.slice(first, first + pcm.length)), floats(pcm), `seed ${seed}`);
    assert.ok(got.slice(first + pcm.length).every((x) => x === 0));
    assert.deepEqual([playback.underruns, playback.silent, playback.played], [0, 0, pcm.length]);
  }
});

test("audio waits to be told, for its level, and for neither when it is complete", () => {
  const playback = new Playback(RATE);
  playback.write(new Float32Array(3000).fill(0.5));
  assert.ok(pull(playback).every((x) => x === 0), "held");
  playback.go(3001);
  assert.ok(pull(playback).every((x) => x === 0), "below the level");
  playback.write(new Float32Array(1).fill(0.5));
  assert.equal(pull(playback)[0], 0.5);

  const short = new Playback(RATE);
  short.write(new Float32Array(50).fill(0.5));
  short.end();
  assert.deepEqual([...pull(short).slice(48, 52)], [0.5, 0.5, 0, 0]);
  assert.ok(short.over);
});

test("a gap ramps out over 5 ms and in over 5 ms, is counted, and raises the level", () => {
  const playback = new Playback(RATE);
  const level = 2400;
  playback.go(level);
  let wanted = level;
  const out = [];
  for (let gap = 1; gap <= 8; gap++) {
    playback.write(new Float32Array(Math.max(wanted, 1000)).fill(1));
    while (playback.underruns < gap) out.push(...pull(playback));
    out.push(...pull(playback, 3)); // silence
    wanted = Math.min(LONGEST_WAIT * RATE, Math.round(wanted * 1.5));
    assert.equal(playback.level, wanted);
  }
  for (let i = 1; i < out.length; i++) {
    assert.ok(Math.abs(out[i] - out[i - 1]) <= 1 / RAMP + 1e-6, `a step of ${out[i] - out[i - 1]} at ${i}`);
  }
  assert.equal(Math.max(...out), 1);
  assert.ok(playback.silent > 0);
});

test("audio that comes while it fades out leaves no step", () => {
  const playback = new Playback(RATE);
  playback.go(0);
  playback.write(new Float32Array(BLOCK + 40).fill(1)); // ends within a ramp
  const out = [...pull(playback)];
  playback.write(new Float32Array(2000).fill(1));
  out.push(...pull(playback, 8));
  for (let i = 1; i < out.length; i++) assert.ok(Math.abs(out[i] - out[i - 1]) <= 1 / RAMP + 1e-6, `${i}`);
  assert.equal(playback.underruns, 0);
});

test("a stop fades out within 5 ms and forgets the rest", () => {
  const playback = new Playback(RATE);
  playback.go(0);
  playback.write(new Float32Array(20000).fill(1));
  pull(playback);
  playback.reset(false);
  const out = pull(playback, 4);
  for (let i = 1; i < out.length; i++) assert.ok(Math.abs(out[i] - out[i - 1]) <= 1 / RAMP + 1e-6);
  assert.ok(out.slice(RAMP).every((x) => x === 0));
  assert.equal(playback.ring.size, 0);
});

test("what is heard fades out however many stops follow each other, and what comes next waits for that", () => {
  for (const between of [0, 50, 200]) {
    const playback = new Playback(RATE);
    playback.go(0);
    playback.write(new Float32Array(20000).fill(1));
    const out = [...pull(playback)];
    playback.reset(true);
    const some = new Float32Array(between);
    playback.pull(some);
    out.push(...some);
    for (let i = 0; i < 2; i++) playback.reset(true);
    playback.go(0);
    playback.write(new Float32Array(20000).fill(1));
    out.push(...pull(playback, 4));
    for (let i = 1; i < out.length; i++) assert.ok(Math.abs(out[i] - out[i - 1]) <= 1 / RAMP + 1e-6, `a step of ${out[i] - out[i - 1]} at ${i}`);
    assert.equal(out.at(-1), 1);
  }
});

test("a pause ramps, loses nothing but its ramps, and is no gap", () => {
  const playback = new Playback(RATE);
  playback.go(0);
  playback.write(new Float32Array(20000).fill(1));
  playback.end();
  const out = [...pull(playback, 2)];
  playback.paused = true;
  out.push(...pull(playback, 4));
  const left = playback.ring.size;
  pull(playback, 100);
  assert.equal(playback.ring.size, left);
  playback.paused = false;
  while (!playback.over) out.push(...pull(playback));
  for (let i = 1; i < out.length - BLOCK; i++) assert.ok(Math.abs(out[i] - out[i - 1]) <= 1 / RAMP + 1e-6 || out[i] === 0, `${i}`);
  assert.deepEqual([playback.underruns, playback.played], [0, 20000]);
});

test("audio that goes on in the middle fades in", () => {
  const playback = new Playback(RATE);
  playback.reset(true);
  playback.go(0);
  playback.write(new Float32Array(1000).fill(1));
  const out = pull(playback);
  assert.ok(out[0] <= 1 / RAMP + 1e-6 && out[RAMP] === 1);
});

test("pulling allocates nothing that lasts", () => {
  const playback = new Playback(RATE);
  playback.go(0);
  const out = new Float32Array(BLOCK);
  const samples = new Float32Array(BLOCK).fill(0.1);
  for (let i = 0; i < 1000; i++) {
    playback.write(samples);
    playback.pull(out);
  }
  const { samples: memory } = playback.ring;
  for (let i = 0; i < 100000; i++) {
    playback.write(samples);
    playback.pull(out);
  }
  assert.equal(playback.ring.samples, memory, "the ring has grown");
});
