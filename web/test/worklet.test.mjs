import assert from "node:assert/strict";
import test from "node:test";

import { cut, noise, random } from "./random.mjs";

// What an audio thread has.
let Processor = null;
globalThis.sampleRate = 24000;
globalThis.AudioWorkletProcessor = class {
  constructor() {
    this.told = [];
    this.port = { postMessage: (m) => this.told.push(m), onmessage: null };
  }
};
globalThis.registerProcessor = (name, made) => {
  assert.equal(name, "mynah");
  Processor = made;
};
await import("../static/page/worklet.js");

function thread() {
  const processor = new Processor();
  const heard = [];
  return {
    processor,
    post: (data) => processor.port.onmessage({ data }),
    run(blocks) {
      for (let i = 0; i < blocks; i++) {
        const channels = [new Float32Array(128), new Float32Array(128)];
        assert.equal(processor.process([], [channels]), true);
        assert.deepEqual(channels[0], channels[1]);
        heard.push(...channels[0]);
      }
    },
    heard,
    told: processor.told,
  };
}

test("pieces of any length come out exactly, and the end is told when all was heard", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const next = random(seed);
    const pcm = noise(20000, next);
    const t = thread();
    t.post({ type: "reset", id: 1, rate: 24000, faded: false });
    t.post({ type: "go", id: 1, seconds: 0.1 });
    for (const piece of cut(pcm, 3000, next)) {
      t.post({ type: "pcm", id: 1, pcm: piece });
      t.run(Math.floor(Math.max(0, t.processor.engine.playback.ring.size - 400) / 128));
    }
    t.post({ type: "end", id: 1 });
    t.run(60);
    const first = t.heard.findIndex((x) => x !== 0);
    assert.deepEqual(Float32Array.from(t.heard.slice(first, first + pcm.length)), Float32Array.from(pcm, (x) => x / 32768));
    assert.equal(t.told.filter((m) => m.begins).length, 1);
    assert.equal(t.told.filter((m) => m.ends).length, 1);
    assert.equal(t.told.find((m) => m.ends).played, pcm.length);
    assert.ok(t.told.every((m) => m.underruns === 0));
  }
});

test("messages about audio that was replaced are late and do nothing", () => {
  const t = thread();
  t.post({ type: "reset", id: 2, rate: 24000, faded: false });
  for (const type of ["go", "end"]) t.post({ type, id: 1, seconds: 0 });
  t.post({ type: "pcm", id: 1, pcm: new Int16Array(1000).fill(9) });
  t.run(10);
  assert.ok(t.heard.every((x) => x === 0));
});

test("stats come about 20 times a second, not with every block", () => {
  const t = thread();
  t.post({ type: "reset", id: 1, rate: 24000, faded: false });
  t.post({ type: "go", id: 1, seconds: 0 });
  t.post({ type: "pcm", id: 1, pcm: new Int16Array(48000).fill(8192) });
  t.run(Math.floor(48000 / 128) - 2);
  assert.ok(t.told.length >= 38 && t.told.length <= 42, `${t.told.length} in two seconds`);
  assert.equal(t.told[5].peak, 0.25);
  assert.ok(Math.abs(t.told[5].rms - 0.25) < 1e-6);
});

test("another rate is resampled, and positions are told in the source's samples", () => {
  const t = thread();
  t.post({ type: "reset", id: 1, rate: 48000, faded: false });
  t.post({ type: "go", id: 1, seconds: 0 });
  const pcm = Int16Array.from({ length: 9600 }, (_, i) => 10000 * Math.sin(i / 40));
  for (const piece of cut(pcm, 900, random(3))) t.post({ type: "pcm", id: 1, pcm: piece });
  t.post({ type: "end", id: 1 });
  t.run(50);
  assert.equal(t.told.find((m) => m.ends).played, 9600);
});
