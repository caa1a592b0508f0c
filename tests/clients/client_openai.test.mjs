// OpenAI's client for JavaScript against `mynah serve`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";

const url = process.env.CLIENTS_URL; // a server for everyone
const narrowUrl = process.env.CLIENTS_NARROW_URL; // one listener, no queue, keys
const client = new OpenAI({ baseURL: url + "/v1", apiKey: "none" });
const narrow = (options) => new OpenAI({ baseURL: narrowUrl + "/v1", apiKey: "sk-test", maxRetries: 0, ...options });

const hello = "Hello there, good morning.";
const frame = 2 * 1920; // bytes of pcm
// Minutes of speech: still being computed when the first bytes of it arrive.
const long = "This sentence is one of very many, and nobody will hear the last of them. ".repeat(50);

const speak = (fields, options) =>
  client.audio.speech.create({ model: "tts-1", voice: "alloy", input: hello, seed: 5, ...fields }, options);
const bytes = async (answer) => Buffer.from(await (await answer).arrayBuffer());

async function metric(name, at = url) {
  const page = await (await fetch(at + "/metrics")).text();
  return Number(page.split("\n").find((line) => line.startsWith(name + " ")).split(" ")[1]);
}

async function quiet(at = url) {
  for (let n = 0; (await metric("mynah_live_requests", at)) + (await metric("mynah_queued_requests", at)) > 0; n++) {
    assert.ok(n < 1500, "something stays live");
    await sleep(20);
  }
}

function decode(data) {
  const command = ["-v", "error", "-i", "-", "-f", "s16le", "-ac", "1", "-ar", "24000", "-"];
  const run = spawnSync("ffmpeg", command, { input: data, maxBuffer: 1 << 26 });
  assert.equal(run.status, 0, String(run.stderr));
  assert.equal(String(run.stderr), "");
  return run.stdout;
}

test("mp3 is the default", async () => {
  const answer = await speak();
  assert.equal(answer.headers.get("content-type"), "audio/mpeg");
  const data = await bytes(answer);
  const pcm = await bytes(speak({ response_format: "pcm" }));
  assert.ok(Math.abs(decode(data).length - pcm.length) < (2 * 24000) / 5);
});

test("wav and flac are the samples of pcm", async () => {
  const pcm = await bytes(speak({ response_format: "pcm" }));
  assert.ok(pcm.length > 5 * frame && pcm.length % frame === 0);
  for (const format of ["wav", "flac"]) {
    assert.ok(decode(await bytes(speak({ response_format: format }))).equals(pcm), format);
  }
});

test("the first bytes come long before the end", async () => {
  for (const format of ["mp3", "pcm", "wav", "flac"]) {
    const answer = await speak({ input: long, response_format: format });
    const reader = answer.body.getReader();
    const { value, done } = await reader.read();
    assert.ok(!done && value.length > 0);
    assert.equal(await metric("mynah_live_requests"), 1); // the rest is still being computed
    await reader.cancel();
    await quiet(); // leaving ends it
  }
});

test("a call that is aborted ends", async () => {
  const abort = new AbortController();
  const answer = await speak({ input: long }, { signal: abort.signal });
  await answer.body.getReader().read();
  abort.abort();
  await quiet();
});

test("events", async () => {
  const answer = await speak({ response_format: "pcm", stream_format: "sse" });
  assert.equal(answer.headers.get("content-type"), "text/event-stream");
  const events = (await answer.text()).split("\n\n").filter(Boolean).map((block) => {
    const [name, data] = block.split("\n");
    const event = JSON.parse(data.replace("data: ", ""));
    assert.equal(name, "event: " + event.type);
    return event;
  });
  const done = events.pop();
  assert.deepEqual([done.type, done.finish_reason, done.usage.output_tokens], ["speech.audio.done", "stop", done.frames]);
  const audio = Buffer.concat(events.map((e) => Buffer.from(e.audio, "base64")));
  assert.ok(audio.equals(await bytes(speak({ response_format: "pcm" }))));
});

test("instructions, speed, voices", async () => {
  const plain = await bytes(speak({ response_format: "pcm" }));
  // The built-in voice was trained without them: it would speak noise.
  await assert.rejects(speak({ response_format: "pcm", instructions: "Speak slowly and sadly." }), (e) => e.status === 400 && e.param === "instructions");
  const fast = await bytes(speak({ response_format: "pcm", speed: 2 }));
  assert.ok(Math.abs(fast.length / plain.length - 0.5) < 0.05);
  for (const voice of ["lark", { id: "lark" }, "marin"]) {
    assert.ok(plain.equals(await bytes(speak({ response_format: "pcm", voice }))), JSON.stringify(voice));
  }
});

test("typed errors", async (t) => {
  for (const [name, fields, error, param, code] of [
    ["voice", { voice: "bob" }, OpenAI.BadRequestError, "voice", "voice_not_found"],
    ["model", { model: "whisper-1" }, OpenAI.NotFoundError, "model", "model_not_found"],
    ["empty", { input: "" }, OpenAI.BadRequestError, "input", "invalid_value"],
    ["no input", { input: undefined }, OpenAI.BadRequestError, "input", "missing_field"],
    ["too long", { input: "a".repeat(4097) }, OpenAI.BadRequestError, "input", "string_above_max_length"],
    ["speed", { speed: 5 }, OpenAI.BadRequestError, "speed", "invalid_value"],
    ["format", { response_format: "ogg" }, OpenAI.BadRequestError, "response_format", "invalid_value"],
  ]) {
    await t.test(name, async () => {
      const e = await speak(fields).then(() => assert.fail("no error"), (e) => e);
      assert.ok(e instanceof error, String(e));
      assert.deepEqual([e.param, e.code, e.type], [param, code, "invalid_request_error"]);
      assert.match(e.requestID, /^req_/);
    });
  }
});

test("keys", async () => {
  await assert.rejects(narrow({ apiKey: "sk-wrong" }).models.list(), OpenAI.AuthenticationError);
  const ids = [];
  for await (const model of narrow().models.list()) ids.push(model.id);
  assert.ok(ids.includes("tts-1"));
});

test("a full queue, and a client that tries again", async () => {
  const held = await narrow().audio.speech.create({ model: "tts-1", voice: "lark", input: long });
  const reader = held.body.getReader();
  await reader.read();
  const ask = (options) => narrow(options).audio.speech.create({ model: "tts-1", voice: "lark", input: hello, response_format: "pcm" });
  const e = await ask().then(() => assert.fail("no error"), (e) => e);
  assert.ok(e instanceof OpenAI.RateLimitError, String(e));
  assert.equal(e.code, "queue_full");
  assert.ok(Number(e.headers.get("retry-after")) > 0);
  const later = ask({ maxRetries: 5 });
  await sleep(500);
  await reader.cancel();
  assert.ok((await bytes(later)).length > 5 * frame);
  await quiet(narrowUrl);
});

test("many calls at once are as each alone", async () => {
  const alone = await Promise.all([0, 1, 2, 3].map((seed) => bytes(speak({ seed, response_format: "pcm" }))));
  const all = await Promise.all(Array.from({ length: 24 }, (_, n) => bytes(speak({ seed: n % 4, response_format: "pcm" }))));
  all.forEach((data, n) => assert.ok(data.equals(alone[n % 4]), `call ${n}`));
});
