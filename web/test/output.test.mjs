import assert from "node:assert/strict";
import test from "node:test";

import { AudioContext, ticks } from "./browser.mjs";
import { settled } from "./fake.mjs";
import { Output } from "../static/page/output.js";

const RATE = 24000;

/** scheduled is a loudspeaker without a worklet that sounds from its beginning on. */
async function scheduled() {
  ticks.length = 0;
  const output = new Output();
  output.wake(RATE);
  await settled();
  assert.equal(output.kind, "scheduled");
  const context = AudioContext.last;
  const pass = async (seconds) => {
    for (const end = context.currentTime + seconds; context.currentTime < end - 1e-9; context.currentTime += 0.04) {
      for (const tick of ticks) tick();
      await settled();
    }
  };
  output.post({ type: "reset", id: 1, rate: RATE, faded: false });
  output.post({ type: "pcm", id: 1, pcm: new Int16Array(2 * RATE).fill(16384) });
  output.post({ type: "go", id: 1, seconds: 0 });
  await pass(0.4);
  return { output, context, pass };
}

test("without a worklet too, a stop is silence within 5 ms and no step", async () => {
  for (const resets of [1, 2]) {
    const { output, context, pass } = await scheduled();
    const at = Math.round(context.currentTime * RATE);
    for (let id = 2; id < 2 + resets; id++) output.post({ type: "reset", id, rate: RATE, faded: false });
    await pass(0.4);
    const out = context.render(context.currentTime);
    assert.equal(out[at - 1], 0.5, "it sounded");
    for (let i = at; i < out.length; i++) assert.ok(Math.abs(out[i] - out[i - 1]) <= 0.5 / 119, `a step of ${out[i] - out[i - 1]} at ${i - at}`);
    assert.ok(out.subarray(at + 121).every((x) => x === 0));
  }
});

test("without a worklet too, what comes in its place is heard from its beginning", async () => {
  const { output, context, pass } = await scheduled();
  output.post({ type: "reset", id: 2, rate: RATE, faded: false });
  output.post({ type: "pcm", id: 2, pcm: new Int16Array(1000).fill(8192) });
  output.post({ type: "end", id: 2 });
  const at = Math.round(context.currentTime * RATE);
  await pass(0.4);
  const out = context.render(context.currentTime);
  assert.equal(out.subarray(at + 100).filter((x) => Math.abs(x - 0.25) < 1e-6).length, 1000);
});
