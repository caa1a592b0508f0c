import assert from "node:assert/strict";
import test from "node:test";

import { Speaker } from "../static/client.js";
import { Fake, settled } from "./fake.mjs";

/** resting is a live speech whose first utterance is still spoken while more text was written. */
async function resting() {
  Fake.all = [];
  globalThis.WebSocket = Fake;
  const speaker = new Speaker("http://host:1/");
  speaker.output.wake = () => {}; // there is no loudspeaker
  const speech = speaker.live();
  const socket = Fake.all[0];
  socket.say({ type: "session.created", utterance_index: 0 });
  await settled();
  speech.write("One.");
  socket.say({ type: "session.updated" });
  socket.say({ type: "audio.start", utterance_index: 0, sample_rate: 24000, seed: 7 });
  socket.sound(5);
  speech.rest();
  speech.write("Two.");
  assert.deepEqual(texts(socket), ["One."]);
  return { speech, socket, outcome: outcomeOf(speech) };
}

const texts = (socket) => socket.sent.filter((m) => m.type === "input.text").map((m) => m.text);

/** outcomeOf is what has become of a speech's promise by the time that it is called. */
function outcomeOf(speech) {
  let outcome = "open";
  speech.complete.then(() => { outcome = "complete"; }, (trouble) => { outcome = trouble.code; });
  return () => outcome;
}

for (const early of [true, false]) {
  test(`text that had to wait is spoken after the utterance before it, ended ${early ? "meanwhile" : "later"}`, async () => {
    const { speech, socket, outcome } = await resting();
    if (early) speech.end();
    socket.say({ type: "session.done", utterance_index: 0, finish_reason: "stop" });
    await settled();
    assert.deepEqual(texts(socket), ["One.", "Two."]);
    assert.equal(outcome(), "open");
    if (!early) speech.end();
    assert.equal(socket.types().at(-1), "input.done");
    socket.say({ type: "session.done", utterance_index: 1, finish_reason: "stop" });
    await settled();
    assert.deepEqual([outcome(), speech.take.state], ["complete", "done"]);
  });

  test(`an utterance that failed or was cut is the end, whatever text waits, ended ${early ? "before" : "after"}`, async () => {
    for (const [finish, wanted, state] of [
      [(socket) => socket.say({ type: "session.done", utterance_index: 0, finish_reason: "error" }), "internal_error", "failed"],
      [(socket) => socket.onclose({ code: 1006, reason: "" }), "lost", "failed"],
      [(socket) => socket.say({ type: "session.done", utterance_index: 0, finish_reason: "length" }), "complete", "cut"],
    ]) {
      const { speech, socket, outcome } = await resting();
      if (early) speech.end();
      finish(socket);
      await settled();
      if (!early) speech.end();
      speech.write("Three.");
      await settled();
      assert.deepEqual([outcome(), speech.take.state], [wanted, state]);
      assert.deepEqual(Fake.all.flatMap(texts), ["One."]);
    }
  });
}
