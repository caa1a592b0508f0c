import assert from "node:assert/strict";
import test from "node:test";

import { Speaker } from "../static/client.js";
import { Fake, settled } from "./fake.mjs";

/** opened is a speaker with a connection that is open. */
async function opened() {
  Fake.all = [];
  globalThis.WebSocket = Fake;
  const speaker = new Speaker("http://host:1/");
  speaker.output.wake = () => {}; // there is no loudspeaker
  const opening = speaker.connection.connect();
  const socket = Fake.all[0];
  socket.say({ type: "session.created", utterance_index: 0 });
  await opening;
  return { speaker, socket };
}

/** resting is a live speech whose first utterance is still spoken while more text was written. */
async function resting() {
  const { speaker, socket } = await opened();
  const speech = speaker.live();
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

test("a flush of text that had to wait keeps its place in it", async () => {
  const { speech, socket } = await resting();
  speech.flush();
  speech.write(" Three.");
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "stop" });
  await settled();
  assert.deepEqual(socket.sent.map((m) => m.text ?? m.type).slice(1), ["One.", "input.done", "Two.", "input.flush", " Three."]);
});

test("a flush while nothing waits begins nothing", async () => {
  const { speech, socket } = await resting();
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "stop" });
  await settled();
  speech.rest();
  speech.flush();
  socket.say({ type: "session.done", utterance_index: 1, finish_reason: "stop" });
  await settled();
  assert.deepEqual(socket.types(), ["session.config", "input.text", "input.done", "input.text", "input.done"]);
});

for (const [what, leave] of [
  ["an older one is played again", (speaker, older) => older.replay()],
  ["its take is left", (speaker) => speaker.player.leave()],
  ["it is stopped", (speaker, older, speech) => speech.stop()],
  ["all of it was heard", ({ player }) => player.told({ id: player.id, played: 5, silence: 0, peak: 0, rms: 0, ends: true })],
]) {
  test(`a speech that is being heard is ended when ${what}, and not before`, async () => {
    const { speaker, socket } = await opened();
    const [older, speech] = [await spoken(speaker, socket, 0), await spoken(speaker, socket, 1)];
    let ended = false;
    speech.ended.then(() => { ended = true; });
    await settled();
    assert.equal(ended, false);
    leave(speaker, older, speech);
    await settled();
    assert.equal(ended, true);
  });
}

/** spoken is a speech of which all audio is here, and nothing was heard. */
async function spoken(speaker, socket, index) {
  const speech = speaker.speak("One.");
  await settled();
  socket.say({ type: "session.updated" });
  socket.say({ type: "audio.start", utterance_index: index, sample_rate: 24000, seed: 7 });
  socket.sound(5);
  socket.say({ type: "session.done", utterance_index: index, finish_reason: "stop" });
  await speech.complete;
  return speech;
}
