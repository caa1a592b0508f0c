import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";

import { settle, speakable } from "../static/page/live.js";
import * as snippets from "../static/page/snippets.js";
import { clock, fileName, spoken, summary, trouble } from "../static/page/words.js";
import { random } from "./random.mjs";

test("what is settled and what is not are together the text, and no word is cut", () => {
  for (const [text, ready, rest] of [
    ["", "", ""], ["Hel", "", "Hel"], ["Hello ", "Hello ", ""], ["Hello the", "Hello ", "the"], ["3.1", "", "3.1"],
    ["a\nb", "a\n", "b"], ["你好世", "你好世", ""], ["你好 wor", "你好 ", "wor"], ["안녕하", "", "안녕하"], ["ok。x", "ok。", "x"],
  ]) assert.deepEqual(settle(text), [ready, rest], text);
});

test("typing letter by letter sends the text", () => {
  const text = "Dr. Blue paid 1.000,50 € — 你好。 Done?";
  let sent = "";
  let area = "";
  for (const letter of text) {
    const [ready, rest] = settle(area + letter);
    sent += ready;
    area = rest;
  }
  assert.equal(sent + area, text);
});

test("a letter or a number of any script is something to say", () => {
  for (const text of ["9", "8...", "٣", "Ⅳ", "½", "é", "字"]) assert.ok(speakable(text), text);
  for (const text of ["", " ", "…", "😄", "***", "\u200b"]) assert.ok(!speakable(text), text);
});

const hostile = `It's "5 > 3" & \\ $HOME \`id\`\n</script>' ; rm -rf / #`;

test("the command line gives the shell the very request", () => {
  const request = snippets.body(hostile, { voice: "a'b", seed: 3, top_k: "", temperature: 0 }, "m");
  assert.deepEqual(request, { model: "m", input: hostile, response_format: "wav", non_streaming_mode: false, voice: "a'b", seed: 3, temperature: 0 });
  const line = snippets.curl("http://h:1", request, true).replace(/^curl/, "show");
  const out = execFileSync("sh", ["-c", `show() { while [ "$1" != -d ]; do shift; done; printf %s "$2"; }; MYNAH_API_KEY=x; ${line}`]);
  assert.deepEqual(JSON.parse(out.toString()), request);
});

test("the module is one, with the very text", async () => {
  const code = snippets.javascript("http://h:1", snippets.body(hostile, { voice: "a" }, "m"), false);
  const said = [];
  const Speaker = class { speak(...all) { said.push(all); return { ended: Promise.resolve() }; } };
  const button = {};
  new Function("Speaker", "button", code.replace(/^import.*$/m, ""))(Speaker, button);
  await button.onclick();
  assert.deepEqual(said, [[hostile, { voice: "a" }]]);
});

test("Python's client is given its own fields, the others as extra_body", () => {
  const code = snippets.python("http://h:1", snippets.body("Hi", { seed: 3, speed: 2, x_vector_only_mode: true }, "m"), false);
  assert.match(code, /voice="default",/);
  assert.match(code, /speed=2,/);
  assert.match(code, /extra_body=\{"non_streaming_mode": False, "seed": 3, "x_vector_only_mode": True\},/);
  assert.ok(!snippets.python("http://h:1", {}, true).includes("none"));
});

test("a seed gives by HTTP what the page has spoken by WebSocket: the text goes to the model in the same way", () => {
  const request = snippets.body("Hi", { seed: 3 }, "m");
  assert.match(snippets.curl("http://h:1", request, false), /"non_streaming_mode": false/);
  assert.match(snippets.python("http://h:1", request, false), /"non_streaming_mode": False/);
  assert.doesNotMatch(snippets.javascript("http://h:1", request, false), /non_streaming_mode|response_format/);
});

test("a voice to imitate is not written out", () => {
  assert.equal(snippets.body("a", { ref_audio: "data:audio/wav;base64,AAAA" }, "m").ref_audio, "data:audio/wav;base64,…");
});

test("times and names are words", () => {
  assert.deepEqual([0, 4.25, 59.99, 60, 605.1].map(clock), ["0:00.0", "0:04.2", "0:59.9", "1:00.0", "10:05.1"]);
  assert.deepEqual([1, 62].map(spoken), ["1 second", "1 minute 2 seconds"]);
  assert.equal(fileName("Hello, there: ../x", 3), "Hello-there-x-3.wav");
  assert.equal(fileName("…", 1), "speech-1.wav");
  for (const word of ["Café", "naïve", "が", "हिन्दी", "한국어"]) assert.equal(fileName(`${word}!`.normalize("NFD"), 2), `${word.normalize("NFC")}-2.wav`);
  assert.equal(fileName("𝒜".repeat(39) + " 𠀀b".repeat(9), 4), `${"A".repeat(39)}-4.wav`);
  assert.equal(fileName("𠀀".repeat(50), 5), `${"𠀀".repeat(40)}-5.wav`);
  assert.equal(summary([0, 0.03, 0.01, 0.02]), "median 20 ms, 95% 30 ms, longest 30 ms");
  assert.equal(summary([0]), "");
});

test("every trouble is a sentence", () => {
  const next = random(1);
  for (const code of ["queue_full", "loading", "shutting_down", "nothing_to_say", "internal_error", "too_many_websockets", "other"]) {
    assert.match(trouble({ code, message: `speed: ${Math.floor(next() * 9)}, allowed are 0.25 to 4` }).text, /^[A-Z].*\.$/);
  }
  assert.match(trouble(undefined).text, /^[A-Z].*\.$/);
});
