import assert from "node:assert/strict";
import test from "node:test";

import { FRAME, LEAST_LEAD, StartPolicy, estimate } from "../static/page/policy.js";
import { random } from "./random.mjs";

/** listen plays what a server sends: rtf is its time for a frame over the frame. It returns when playback began and how long it was dry. */
function listen({ rtf, frames, expected = frames * FRAME, known = 0, jitter = () => 0 }) {
  const policy = new StartPolicy(known);
  policy.expected = expected;
  const arrivals = Array.from({ length: frames }, (_, i) => 0.5 + (i + 1) * rtf * FRAME + jitter(i)).sort((a, b) => a - b);
  let next = 0;
  let began = -1;
  let heard = 0;
  let dry = 0;
  for (let now = 0; heard < frames * FRAME - 1e-9 && now < 1000; now += 0.005) {
    while (next < frames && arrivals[next] <= now) {
      policy.arrived(FRAME, arrivals[next]);
      next++;
    }
    if (next === frames) policy.complete = true;
    if (began < 0 && next > 0 && policy.need(now, 0) <= next * FRAME + 1e-9) began = now;
    if (began < 0) continue;
    if (heard + 0.005 <= next * FRAME + 1e-9) heard += 0.005;
    else dry++;
  }
  return { began, dry, latest: arrivals[frames - 1] };
}

test("a fast server is heard at its third frame, and at its first once it is known to be fast", () => {
  for (const rtf of [0.05, 0.2, 0.4, 0.7]) {
    const { began, dry } = listen({ rtf, frames: 100 });
    assert.equal(dry, 0, `rtf ${rtf}`);
    assert.ok(began <= 0.5 + 3 * rtf * FRAME + 0.006, `rtf ${rtf}: ${began}`);
  }
  const { began } = listen({ rtf: 0.2, frames: 100, known: 5 });
  assert.ok(began <= 0.5 + 0.2 * FRAME + 0.006);
});

test("a server slower than real time is heard whole, and before it is done", () => {
  for (const rtf of [1.05, 1.3, 2, 4]) {
    for (const frames of [40, 200, 1000]) {
      const { began, dry, latest } = listen({ rtf, frames });
      assert.equal(dry, 0, `rtf ${rtf}, ${frames} frames: ${dry}`);
      assert.ok(began < latest, `rtf ${rtf}, ${frames} frames: waits for all of it`);
      // Whoever knew everything would begin at latest - length of the audio.
      const best = latest - frames * FRAME;
      assert.ok(began - best < 0.4 * frames * FRAME * Math.max(1, rtf - 1) + 1, `rtf ${rtf}, ${frames}: ${began} against ${best}`);
    }
  }
});

test("an estimate that is 15 percent short leaves no gap", () => {
  for (const rtf of [1.3, 2]) {
    const { dry } = listen({ rtf, frames: 200, expected: 200 * FRAME * 0.87 });
    assert.equal(dry, 0, `rtf ${rtf}`);
  }
});

test("frames that are late by up to 60 ms leave no gap at a rate that is slower", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const next = random(seed);
    const { dry } = listen({ rtf: 1.3, frames: 200, jitter: () => next() * 0.06 });
    assert.equal(dry, 0, `seed ${seed}`);
  }
});

test("two frames in one packet do not make a slow server fast", () => {
  const policy = new StartPolicy();
  policy.expected = 10;
  policy.arrived(FRAME, 1);
  policy.arrived(FRAME, 1.0001);
  assert.equal(policy.need(1.001), Infinity);
});

test("what is complete need not wait, what is typed waits for no more than the least", () => {
  const policy = new StartPolicy(0, true);
  assert.equal(policy.need(0), Infinity);
  policy.arrived(FRAME, 1);
  assert.equal(policy.need(1), LEAST_LEAD);
  policy.complete = true;
  assert.equal(policy.need(1), 0);
});

test("gaps make it more careful", () => {
  const policy = new StartPolicy();
  policy.expected = 20;
  for (let i = 0; i < 20; i++) policy.arrived(FRAME, i * 0.1);
  const before = policy.need(2);
  policy.gaps = 2;
  assert.ok(policy.need(2) > before);
});

test("the estimate is the server's", () => {
  for (const [text, speed, seconds] of [["Hello there.", 1, 0.78], ["Hello there.", 2, 0.39], ["你好世界", 1, 0.8], ["a", 1, 0.4]]) {
    assert.equal(estimate(text, speed).toFixed(9), seconds.toFixed(9), text);
  }
});
