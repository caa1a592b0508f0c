import assert from "node:assert/strict";
import test from "node:test";

import { SoundEngine } from "../static/page/engine.js";
import { Player } from "../static/page/player.js";
import { StartPolicy } from "../static/page/policy.js";
import { Take } from "../static/page/take.js";
import { cut, noise, random } from "./random.mjs";

const RATE = 24000;
const BLOCK = 128;

/** rig is a player whose loudspeaker is an array, and whose time goes by when it is told to. */
function rig() {
  const output = { ontell() {}, latency: 0, ahead: 0 };
  const engine = new SoundEngine(RATE, (m) => output.ontell(m));
  const late = [];
  output.post = (m) => late.push(m);
  let samples = 0;
  const player = new Player(output, () => samples / RATE);
  const heard = [];
  return {
    player,
    engine,
    heard,
    pass(blocks, keep = true) {
      for (let i = 0; i < blocks; i++) {
        for (const m of late.splice(0)) engine.receive(m);
        const out = new Float32Array(BLOCK);
        engine.pull(out);
        if (keep) heard.push(...out);
        samples += BLOCK;
      }
    },
  };
}

function taken(pcm = new Int16Array(0), over = true) {
  const take = new Take({ id: 1, text: "x", settings: {} });
  take.pcm.append(pcm);
  take.state = over ? "done" : "speaking";
  return take;
}

test("a take is played exactly, from any place", () => {
  const next = random(1);
  for (const from of [0, 1, 999, 23999]) {
    const pcm = noise(24000, next);
    const r = rig();
    r.player.play(taken(pcm), from);
    r.pass(220);
    assert.equal(r.player.state, "over");
    assert.equal(r.player.position, pcm.length);
    const faded = from === 0 ? 0 : 120;
    const at = r.heard.findLastIndex((x) => x !== 0) + 1 - (pcm.length - from);
    for (let i = faded; i < pcm.length - from; i++) assert.equal(r.heard[at + i], pcm[from + i] / 32768);
  }
});

test("a place between two samples is the nearer one, for all that follows", () => {
  const pcm = noise(80000, random(5)); // more than one block of the recording
  for (const [from, wanted] of [[58000.4, 58000], [58000.5, 58001], [-1.5, 0], [80000.2, 80000]]) {
    const r = rig();
    r.player.play(taken(pcm), from);
    assert.equal(r.player.position, wanted);
    r.pass(Math.ceil((80000 - wanted) / BLOCK) + 10);
    assert.deepEqual([r.player.state, r.player.position], ["over", pcm.length]);
    const end = r.heard.findLastIndex((x) => x !== 0) + 1;
    const n = Math.max(0, pcm.length - wanted - 120); // the first 5 ms fade in
    assert.deepEqual(Float32Array.from(r.heard.slice(end - n, end)), Float32Array.from(pcm.slice(pcm.length - n), (x) => x / 32768));
  }
});

test("a take that still arrives, in pieces of any length and at any time, is played exactly", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const next = random(seed);
    const pcm = noise(48000, next);
    const r = rig();
    const take = taken(undefined, false);
    take.policy = new StartPolicy(5);
    take.policy.expected = 2;
    r.player.play(take);
    for (const piece of cut(pcm, 4000, next)) {
      take.pcm.append(piece);
      take.policy.arrived(piece.length / RATE, r.player.clock());
      r.player.advance();
      r.pass(Math.floor(next() * (piece.length / BLOCK)));
    }
    take.state = "done";
    take.policy.complete = true;
    r.player.advance();
    r.pass(400);
    const first = r.heard.findIndex((x) => x !== 0);
    assert.deepEqual(Float32Array.from(r.heard.slice(first, first + pcm.length)), Float32Array.from(pcm, (x) => x / 32768), `seed ${seed}`);
    assert.equal(take.underruns, 0);
  }
});

test("twenty minutes pass through a ring that stays as it is", () => {
  const r = rig();
  const piece = new Int16Array(RATE).fill(5);
  const take = taken();
  for (let i = 0; i < 20 * 60; i++) take.pcm.append(piece);
  r.player.play(take);
  const memory = r.engine.playback.ring.samples;
  let most = 0;
  while (r.player.state !== "over") {
    r.pass(100, false);
    most = Math.max(most, r.engine.playback.ring.size);
  }
  assert.equal(r.engine.playback.ring.samples, memory);
  assert.ok(most <= 5 * RATE, `${most / RATE} s were handed over ahead`);
  assert.deepEqual([r.player.position, take.underruns], [take.pcm.length, 0]);
});

test("a gap is counted, and a server that is slow is waited for", () => {
  const r = rig();
  const take = taken(undefined, false);
  take.policy = new StartPolicy(5);
  take.policy.expected = 20;
  r.player.play(take);
  for (let i = 0; i < 30; i++) {
    take.pcm.append(new Int16Array(1920).fill(99));
    take.policy.arrived(0.08, r.player.clock());
    r.player.advance();
    r.pass(30); // 160 ms
  }
  assert.equal(take.underruns, 1, "the second beginning waits for enough");
  assert.equal(r.player.going, false);
  assert.ok(r.player.need() > r.player.lead);
});

test("words that have not been typed are no gap", () => {
  const r = rig();
  const take = taken(new Int16Array(4800).fill(7), false);
  take.policy = new StartPolicy(5, true);
  take.policy.arrived(0.2, 0);
  r.player.play(take);
  r.pass(200);
  assert.equal(take.underruns, 0);
  take.pcm.append(new Int16Array(4800).fill(7));
  r.player.advance();
  r.pass(60);
  assert.equal(r.player.position, 9600);
});

test("stop is silence within 5 ms, and leaves the place", () => {
  const r = rig();
  const take = taken(new Int16Array(RATE).fill(9000));
  r.player.play(take);
  r.pass(20);
  const at = r.player.position;
  r.player.stop();
  const before = r.heard.length;
  r.pass(20);
  assert.ok(r.heard.slice(before + 121).every((x) => x === 0));
  assert.equal(r.player.state, "paused");
  assert.ok(r.player.position >= at && r.player.position <= at + RATE / 20);
  r.player.resume();
  r.pass(200);
  assert.equal(r.player.position, RATE);
});

test("a text that takes another's place lets it fade out", () => {
  const r = rig();
  r.player.play(taken(new Int16Array(RATE).fill(16384)));
  r.pass(20);
  r.player.stop();
  r.player.play(taken(undefined, false));
  r.pass(20);
  for (let i = 1; i < r.heard.length; i++) assert.ok(r.heard[i - 1] === 0 || Math.abs(r.heard[i] - r.heard[i - 1]) <= 0.5 / 120 + 1e-6, `a step of ${r.heard[i] - r.heard[i - 1]} at ${i}`);
  assert.equal(Math.max(...r.heard), 0.5);
  assert.equal(r.heard.at(-1), 0);
});

test("leaving a take is told once, playing it again is not", () => {
  const r = rig();
  const [one, two] = [taken(new Int16Array(RATE).fill(1)), taken(new Int16Array(RATE).fill(2))];
  const left = [];
  r.player.addEventListener("left", () => left.push(r.player.take));
  r.player.play(one);
  r.player.play(one, 5);
  r.player.put(two);
  r.player.seek(9);
  r.player.leave();
  r.player.leave();
  assert.deepEqual(left, [one, two, null]);
});
