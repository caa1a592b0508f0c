import assert from "node:assert/strict";
import test from "node:test";

import { byId } from "./browser.mjs";
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
