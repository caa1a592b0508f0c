import assert from "node:assert/strict";
import test from "node:test";

import { Resampler } from "../static/page/resample.js";
import { cut, random } from "./random.mjs";

function all(resampler, pieces) {
  const out = [];
  for (const piece of pieces) out.push(...resampler.push(piece));
  out.push(...resampler.finish());
  return Float32Array.from(out);
}

for (const to of [44100, 48000, 16000, 22050]) {
  test(`24000 to ${to}: the same samples however the input is cut, as many as it is long`, () => {
    const input = Float32Array.from({ length: 9001 }, (_, i) => 0.7 * Math.sin((2 * Math.PI * 440 * i) / 24000));
    const whole = all(new Resampler(24000, to), [input]);
    assert.equal(whole.length, Math.round((9001 * to) / 24000));
    for (let seed = 1; seed <= 10; seed++) {
      const next = random(seed);
      assert.deepEqual(all(new Resampler(24000, to), cut(input, seed * 97, next)), whole, `seed ${seed}`);
    }
  });

  test(`24000 to ${to}: a tone stays that tone, without delay`, () => {
    const n = 12000;
    for (const pitch of [100, 440, 3000, 5500]) {
      const input = Float32Array.from({ length: n }, (_, i) => 0.7 * Math.sin((2 * Math.PI * pitch * i) / 24000));
      const out = all(new Resampler(24000, to), [input]);
      let worst = 0;
      for (let i = 200; i < out.length - 200; i++) worst = Math.max(worst, Math.abs(out[i] - 0.7 * Math.sin((2 * Math.PI * pitch * i) / to)));
      assert.ok(worst < 0.005, `${pitch} Hz: ${worst}`);
    }
  });
}

test("one rate to itself is the very samples", () => {
  const input = Float32Array.from([0.1, -0.5, 1]);
  assert.deepEqual(all(new Resampler(24000, 24000), [input]), input);
});

test("a resampler that is reset begins anew", () => {
  const input = Float32Array.from({ length: 1000 }, (_, i) => Math.sin(i));
  const resampler = new Resampler(24000, 48000);
  const first = all(resampler, [input]);
  resampler.reset();
  assert.deepEqual(all(resampler, [input]), first);
});
