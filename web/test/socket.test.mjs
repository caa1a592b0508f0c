import assert from "node:assert/strict";
import test from "node:test";

import { Connection, backoff, configuration, ended } from "../static/page/socket.js";
import { Fake, settled } from "./fake.mjs";

async function connected(options = {}) {
  Fake.all = [];
  const connection = new Connection("http://host:1/", { WebSocket: Fake, ...options });
  const opening = connection.connect();
  Fake.all[0].say({ type: "session.created", utterance_index: 0 });
  await opening;
  return { connection, socket: Fake.all[0] };
}

function listener() {
  const log = [];
  return { log, start: (e) => log.push(["start", e.seed]), audio: (a) => log.push(["audio", a.length, a[0]]), segment: (e) => log.push(["segment", e.rtf]), end: (reason, trouble) => log.push(["end", reason, trouble?.code]) };
}

test("a text is configured, sent and heard", async () => {
  const { connection, socket } = await connected({ key: "k" });
  assert.equal(socket.url, "ws://host:1/v1/audio/speech/stream");
  assert.deepEqual(socket.protocols, ["mynah", "openai-insecure-api-key.k"]);
  const h = listener();
  const utterance = connection.begin({ voice: "a", seed: 3, top_k: "" }, h);
  utterance.write("Hello.");
  utterance.end();
  await settled();
  assert.deepEqual(socket.sent[0], { type: "session.config", voice: "a", language: "", seed: 3, speed: 1 });
  assert.deepEqual(socket.types(), ["session.config", "input.text", "input.done"]);
  socket.say({ type: "session.updated" });
  socket.say({ type: "audio.start", utterance_index: 0, seed: 3 });
  socket.sound(5, 9);
  socket.say({ type: "audio.done", utterance_index: 0, sentence_index: 0, rtf: 0.5 });
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "stop" });
  assert.deepEqual(h.log, [["start", 3], ["audio", 5, 9], ["segment", 0.5], ["end", "stop", undefined]]);
  // The same settings are not sent again.
  connection.begin({ voice: "a", seed: 3 }, listener()).write("x");
  await settled();
  assert.deepEqual(socket.types().slice(3), ["input.text"]);
});

test("a key that cannot be a subprotocol is in the query, to the letter", async () => {
  for (const key of ["q83v/Ee0+w==", "a b", "a,b", "clé", "a&b=c#d"]) {
    const { socket } = await connected({ key });
    const url = new URL(socket.url);
    assert.deepEqual([url.pathname, [...url.searchParams]], ["/v1/audio/speech/stream", [["api_key", key]]]);
    assert.deepEqual(socket.protocols, ["mynah"]);
  }
  for (const key of ["sk-a_b.c~d!", ""]) {
    const { socket } = await connected({ key });
    assert.equal(socket.url, "ws://host:1/v1/audio/speech/stream");
    assert.deepEqual(socket.protocols.slice(1), key ? [`openai-insecure-api-key.${key}`] : []);
  }
});

test("a flush before the connection is open keeps its place, and without text or after its end is none", async () => {
  Fake.all = [];
  const connection = new Connection("http://host:1/", { WebSocket: Fake });
  const utterance = connection.begin({}, listener());
  utterance.flush();
  utterance.write("a");
  utterance.flush();
  utterance.write("b");
  Fake.all[0].say({ type: "session.created", utterance_index: 0 });
  await settled();
  utterance.flush();
  utterance.end();
  utterance.flush();
  assert.deepEqual(Fake.all[0].sent.map((m) => m.text ?? m.type), ["session.config", "a", "input.flush", "b", "input.flush", "input.done"]);
});

test("text that is written before the connection is open is sent when it is", async () => {
  Fake.all = [];
  const connection = new Connection("https://host/sub/", { WebSocket: Fake });
  const utterance = connection.begin({}, listener());
  utterance.write("a");
  utterance.write("b");
  utterance.end();
  assert.equal(Fake.all[0].url, "wss://host/sub/v1/audio/speech/stream");
  Fake.all[0].say({ type: "session.created", utterance_index: 0 });
  await settled();
  assert.deepEqual(Fake.all[0].types(), ["session.config", "input.text", "input.text", "input.done"]);
});

test("nothing of a cancelled utterance is heard, and all of the next", async () => {
  const { connection, socket } = await connected();
  const first = listener();
  const second = listener();
  const one = connection.begin({}, first);
  one.write("One.");
  await settled();
  socket.say({ type: "session.updated" });
  socket.say({ type: "audio.start", utterance_index: 0 });
  socket.sound(1, 1);
  one.cancel();
  const two = connection.begin({}, second);
  two.write("Two.");
  two.end();
  await settled();
  assert.deepEqual(socket.types(), ["session.config", "input.text", "input.cancel", "input.text", "input.done"]);
  socket.sound(1, 1); // was on its way
  socket.say({ type: "audio.done", utterance_index: 0, sentence_index: 0, finish_reason: "cancelled" });
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "cancelled" });
  socket.say({ type: "audio.start", utterance_index: 1 });
  socket.sound(2, 2);
  socket.say({ type: "session.done", utterance_index: 1, finish_reason: "stop" });
  assert.deepEqual(first.log, [["start", undefined], ["audio", 1, 1], ["end", "cancelled", undefined]]);
  assert.deepEqual(second.log, [["start", undefined], ["audio", 2, 2], ["end", "stop", undefined]]);
});

test("if the settings are refused the text is not spoken with the old ones", async () => {
  const { connection, socket } = await connected();
  const h = listener();
  const u = connection.begin({ voice: "nobody" }, h);
  u.write("Hello.");
  u.end();
  await settled();
  socket.say({ type: "error", code: "voice_not_found", message: "no", utterance_index: null, fatal: false });
  assert.deepEqual(h.log, [["end", "error", "voice_not_found"]]);
  assert.equal(socket.types().at(-1), "input.cancel");
});

test("a piece that was refused makes the utterance a failure even if the rest was spoken", async () => {
  const { connection, socket } = await connected();
  const h = listener();
  const u = connection.begin({}, h);
  u.write("long");
  u.end();
  await settled();
  socket.say({ type: "session.updated" });
  socket.say({ type: "error", code: "string_above_max_length", message: "too long", utterance_index: 0, fatal: false });
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "stop" });
  assert.deepEqual(h.log, [["end", "error", "string_above_max_length"]]);
});

test("the warning of a server that ends does not end the utterance", async () => {
  const { connection, socket } = await connected();
  const h = listener();
  const u = connection.begin({}, h);
  u.write("a");
  u.end();
  await settled();
  socket.say({ type: "session.updated" });
  socket.say({ type: "error", code: "shutting_down", message: "", utterance_index: null, fatal: false });
  assert.deepEqual(h.log, []);
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "stop" });
  assert.deepEqual(h.log, [["end", "stop", undefined]]);
});

test("a connection that is lost fails the utterance, is told, and is opened anew for the next, which is not the old one", async () => {
  const { connection, socket } = await connected();
  const h = listener();
  let lost = "";
  connection.onlost = (trouble) => { lost = trouble.code; };
  connection.begin({}, h).write("a");
  await settled();
  socket.onclose({ code: 1006, reason: "" });
  assert.deepEqual(h.log, [["end", "error", "lost"]]);
  assert.equal(lost, "lost");
  connection.begin({}, listener()).write("b");
  Fake.all[1].say({ type: "session.created", utterance_index: 0 });
  await settled();
  assert.deepEqual(Fake.all[1].sent.map((m) => m.text ?? m.type), ["session.config", "b"]);
});

test("settings that are gone need a new connection, for the server keeps what it was told", async () => {
  const { connection, socket } = await connected();
  const u = connection.begin({ temperature: 0.5 }, listener());
  u.write("a");
  u.end();
  await settled();
  socket.say({ type: "session.updated" });
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "stop" });
  connection.begin({}, listener());
  assert.ok(socket.closed);
  assert.equal(Fake.all.length, 2);
});

test("every setting that can be unset has the value that does so", () => {
  assert.deepEqual(configuration({}), { voice: "default", language: "", seed: -1, speed: 1 });
});

test("a language is only named if one is, so that a voice that is kept speaks its own", () => {
  assert.equal(configuration({ voice: "anna" }).language, "");
  assert.equal(configuration({ voice: "anna", language: "Auto" }).language, "Auto");
});

test("whatever format is asked for, audio comes as the samples that are played", () => {
  for (const settings of [{ response_format: "mp3" }, { response_format: "wav", stream_format: "sse" }]) {
    assert.deepEqual(configuration({ ...settings, sample_rate: 8000 }), { ...configuration({}), sample_rate: 8000 });
  }
});

test("endings are sentences", () => {
  for (const reason of ["idle_timeout", "shutting_down", "slow_client: lag", "", "other"]) assert.match(ended(1008, reason), /^[A-Z].*\.$/);
});

test("waiting grows to half a minute at most, and never by the same", () => {
  for (let n = 0; n < 20; n++) {
    assert.ok(backoff(n, () => 0) >= 0.25 && backoff(n, () => 1) <= 30);
    assert.ok(backoff(n, () => 0) < backoff(n, () => 1));
  }
});
