import assert from "node:assert/strict";
import test from "node:test";

import { byId, ticks } from "./browser.mjs";
import { settled } from "./fake.mjs";
import { Clone } from "../static/page/clone.js";

const RATE = 24000;

/** Microphone asks, and is on until its only track is stopped. */
class Microphone {
  asked = [];
  on = 0;

  getUserMedia() {
    return new Promise((resolve, reject) => this.asked.push({ resolve, reject }));
  }

  /** allow answers what was asked first. */
  async allow() {
    this.on++;
    this.asked.shift().resolve({ getTracks: () => [{ stop: () => this.on-- }] });
    await settled();
  }
}

class Recorder {
  static all = [];
  state = "inactive";

  constructor() {
    Recorder.all.push(this);
  }

  start() {
    this.state = "recording";
  }

  stop() {
    this.state = "inactive";
    this.ondataavailable({ data: Uint8Array.of(9) });
    this.onstop();
  }
}

/** decoding are the sounds that the browser is still at: the first byte of each, and what ends it. */
const decoding = new Map();
globalThis.OfflineAudioContext = class {
  decodeAudioData(bytes) {
    return new Promise((resolve, reject) => decoding.set(new Uint8Array(bytes)[0], { resolve, reject }));
  }
};
globalThis.FileReader = class {
  async readAsDataURL(blob) {
    this.result = Buffer.from(await blob.arrayBuffer()).toString("base64");
    this.onload();
  }
};

/** offered is the part of the form, with what it told of the voice. */
function offered() {
  decoding.clear();
  Recorder.all = [];
  globalThis.MediaRecorder = Recorder;
  navigator.mediaDevices = new Microphone();
  const told = [];
  const clone = new Clone(byId("clone"), { set: (fields) => told.push(fields), listen() {} });
  return { clone, told, microphone: navigator.mediaDevices };
}

/** decoded ends the reading of a sound: it is so long, and its samples tell which it was. */
async function decoded(which, seconds = 2) {
  const channel = new Float32Array(seconds * RATE).fill(which / 100);
  decoding.get(which).resolve({ length: channel.length, numberOfChannels: 1, getChannelData: () => channel });
  for (let i = 0; i < 5; i++) await settled();
}

const file = (which) => new Blob([Uint8Array.of(which)]);
const heard = (clone) => clone.pcm && Math.round(clone.pcm.slice(0, 1)[0] / 327.67);

test("a second click while the browser asks asks for no second microphone", async () => {
  const { clone, told, microphone } = offered();
  clone.toggle();
  clone.toggle();
  assert.equal(microphone.asked.length, 1);
  await microphone.allow();
  assert.deepEqual([Recorder.all.length, microphone.on], [1, 1]);
  clone.toggle();
  assert.equal(microphone.on, 0, "the click after that ends the recording");
  await settled();
  await decoded(9);
  assert.equal(heard(clone), 9);
  assert.ok(told.at(-1).ref_audio);
});

test("after a refusal, or a recorder that fails, the microphone is off and can be asked for again", async () => {
  const { clone, microphone } = offered();
  clone.toggle();
  microphone.asked.shift().reject(new Error("no"));
  await settled();
  assert.match(clone.note.textContent, /no access/);
  globalThis.MediaRecorder = class extends Recorder { start() { throw new Error("no"); } };
  clone.toggle();
  await microphone.allow();
  assert.equal(microphone.on, 0);
  globalThis.MediaRecorder = Recorder;
  clone.toggle();
  await microphone.allow();
  assert.equal(clone.recorder.state, "recording");
});

test("a voice that is forgotten while it is read stays forgotten", async () => {
  const { clone, told } = offered();
  clone.take(file(1));
  await settled();
  clone.clear();
  await decoded(1);
  assert.deepEqual([clone.pcm, clone.sound, clone.note.textContent, told.at(-1)], [null, "", "", {}]);
});

test("the file that was chosen last is the voice, whichever is read first, and whatever is wrong with the others", async () => {
  for (const first of [[1], [1, 0.5], null]) {
    const { clone, told } = offered();
    clone.take(file(1));
    clone.take(file(2));
    await settled();
    await decoded(2);
    const { note, sound } = clone;
    const said = note.textContent;
    if (first) await decoded(...first);
    else decoding.get(1).reject(new Error("no audio"));
    for (let i = 0; i < 5; i++) await settled();
    assert.deepEqual([heard(clone), clone.sound, note.textContent], [2, sound, said]);
    assert.equal(told.at(-1).ref_audio, sound);
  }
});

test("a voice is sent whole or not at all: up to a minute, which a message holds, and from a second on", async () => {
  for (const seconds of [1, 30.5, 60]) {
    const { clone, told } = offered();
    clone.words.value = "All that is said.";
    clone.take(file(3));
    await settled();
    await decoded(3, seconds);
    const { ref_audio, ref_text } = told.at(-1);
    assert.equal(ref_text, "All that is said.");
    assert.equal(Buffer.from(ref_audio, "base64").length, 44 + 2 * RATE * seconds);
    assert.match(clone.note.textContent, /^\d:\d\d\.\d$/);
    const others = 2 * 4096 * 4; // ref_text and instructions at their longest
    assert.ok(JSON.stringify(told.at(-1)).length + others < 4 << 20, "the server's --max-body");
  }
  for (const [seconds, note] of [[0.5, /too short/], [60.5, /^That is 1:00\.5 long, and at most 60 seconds can be sent\.$/], [125, /2:05\.0/]]) {
    const { clone, told } = offered();
    clone.take(file(3));
    await settled();
    await decoded(3, seconds);
    assert.match(clone.note.textContent, note);
    assert.deepEqual([told.at(-1), clone.pcm, clone.hear.hidden], [{}, null, true]);
  }
});

test("a file that is refused leaves no voice of before to speak in its place", async () => {
  const { clone, told } = offered();
  clone.take(file(1));
  await settled();
  await decoded(1);
  clone.take(file(2));
  await settled();
  await decoded(2, 61);
  assert.match(clone.note.textContent, /at most 60/);
  assert.deepEqual([told.at(-1), clone.pcm], [{}, null]);
});

test("the words of one voice are never said to be in another", async () => {
  const { clone, told, microphone } = offered();
  const fields = () => { const { ref_text = null, x_vector_only_mode = false } = told.at(-1); return [ref_text, x_vector_only_mode]; };
  const write = (words) => { clone.words.value = words; clone.words.fire("input"); };
  const choose = async (which) => { clone.take(file(which)); await settled(); await decoded(which); };
  const record = async () => {
    clone.toggle();
    await microphone.allow();
    return async () => { clone.toggle(); await settled(); await decoded(9); };
  };
  write("One.");
  await choose(1);
  assert.deepEqual(fields(), ["One.", false], "written before");
  await choose(2);
  assert.deepEqual(fields(), [null, true], "of the file before");
  write("Two.");
  clone.clear();
  await choose(3);
  assert.deepEqual(fields(), [null, true], "of one that was forgotten");
  write("Three.");
  let stop = await record();
  assert.deepEqual(told.at(-1), {}, "while another is recorded");
  write("Spoken.");
  await stop();
  assert.deepEqual(fields(), ["Spoken.", false], "written while it was recorded");
  stop = await record();
  await stop();
  assert.deepEqual(fields(), ["Spoken.", false], "recorded once more");
  await choose(4);
  assert.deepEqual(fields(), [null, true], "of a recording");
});

test("a recording that ends by itself says so", async () => {
  const { clone, microphone } = offered();
  const { now } = performance;
  ticks.length = 0;
  clone.toggle();
  await microphone.allow();
  performance.now = () => now.call(performance) + 31_000;
  try {
    ticks[0]();
  } finally {
    performance.now = now;
  }
  assert.deepEqual([Recorder.all[0].state, microphone.on], ["inactive", 0]);
  await settled();
  await decoded(9, 30);
  assert.equal(clone.note.textContent, "0:30.0: recordings end at 30 s");
});

test("channels are averaged, and where they cancel each other the loudest is taken", async () => {
  const cases = [
    [[0.3, 0.3, 0.3], 9830], [[0.5, 0.25], 12288], [[0, -0.5], -8192], [[1.5, 1.5], 32767],
    [[0.5, -0.5], 16384], [[-0.6, 0.6], -19660], [[0.25, -0.249], 8192], [[0, 0], 0],
  ];
  for (const [levels, want] of cases) {
    const { clone } = offered();
    clone.take(file(1));
    await settled();
    const channels = levels.map((level) => new Float32Array(RATE).fill(level));
    decoding.get(1).resolve({ length: RATE, numberOfChannels: levels.length, getChannelData: (c) => channels[c] });
    for (let i = 0; i < 5; i++) await settled();
    assert.deepEqual([...new Set(clone.pcm.slice(0))], [want], levels.join(", "));
  }
});

test("the voice and the words of an earlier take come back, or none if it had none", async () => {
  const { clone, told } = offered();
  clone.take(file(1));
  await settled();
  await decoded(1);
  clone.words.value = "One.";
  clone.words.fire("input");
  const first = told.at(-1);
  const samples = clone.pcm.slice(0);
  clone.take(file(2));
  await settled();
  await decoded(2);
  const second = told.at(-1);
  clone.recall({ voice: "", ...first });
  assert.deepEqual([told.at(-1), clone.pcm.slice(0), clone.words.value, clone.hear.hidden], [first, samples, "One.", false]);
  clone.recall(second);
  assert.deepEqual([told.at(-1), heard(clone), clone.words.value], [second, 2, ""]);
  clone.recall({ voice: "one" });
  assert.deepEqual([told.at(-1), clone.pcm, clone.hear.hidden], [{}, null, true]);
});
