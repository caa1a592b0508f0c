import assert from "node:assert/strict";
import test from "node:test";

import { Pcm, Take, wav } from "../static/page/take.js";
import { cut, noise, random } from "./random.mjs";

test("a recording gives back any part of what was added, and its peaks", () => {
  for (let seed = 1; seed <= 5; seed++) {
    const next = random(seed);
    const all = noise(200_000, next);
    const pcm = new Pcm(24000);
    for (const piece of cut(all, 9000, next)) pcm.append(piece);
    assert.equal(pcm.length, all.length);
    for (let i = 0; i < 50; i++) {
      const from = Math.floor(next() * all.length);
      const to = from + Math.floor(next() * 150_000);
      assert.deepEqual(pcm.slice(from, to), all.slice(from, to));
    }
    assert.equal(pcm.peaks.length, Math.ceil(all.length / 480));
    const at = Math.floor(next() * pcm.peaks.length);
    assert.equal(pcm.peaks[at], Math.max(...all.slice(480 * at, 480 * at + 480).map(Math.abs)) / 32768);
  }
});

test("a WAV file has exact sizes and the samples", () => {
  const pcm = new Pcm(22050);
  pcm.append(Int16Array.from([1, -2, 32767, -32768]));
  const bytes = Buffer.from(wav(pcm));
  assert.equal(bytes.length, 52);
  assert.equal(bytes.toString("latin1", 0, 4) + bytes.toString("latin1", 8, 16), "RIFFWAVEfmt ");
  assert.deepEqual([bytes.readUInt32LE(4), bytes.readUInt32LE(24), bytes.readUInt32LE(28), bytes.readUInt32LE(40)], [44, 22050, 44100, 8]);
  assert.deepEqual([44, 46, 48, 50].map((i) => bytes.readInt16LE(i)), [1, -2, 32767, -32768]);
});

test("a take is over when nothing more comes of it", () => {
  const take = new Take({ id: 1, text: "", settings: {} });
  const over = {};
  for (const state of ["waiting", "speaking", "done", "cut", "stopped", "failed"]) {
    take.state = state;
    over[state] = take.over;
  }
  assert.deepEqual(over, { waiting: false, speaking: false, done: true, cut: true, stopped: true, failed: true });
});
