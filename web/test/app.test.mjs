import assert from "node:assert/strict";
import test from "node:test";

import { AudioContext, byId } from "./browser.mjs";
import { Fake, settled } from "./fake.mjs";

/** opened is the page with a server that is well; sound waits for nobody. */
async function opened() {
  AudioContext.state = "suspended";
  globalThis.WebSocket = Fake;
  globalThis.fetch = async (url) => ({
    status: 200,
    json: async () => (url.pathname.endsWith("models") ? { data: [{ id: "m", languages: [] }] } : { voices: [{ id: "one", name: "one" }, { id: "two", name: "two" }] }),
  });
  const page = await import("../static/page/app.js");
  for (let i = 0; i < 5; i++) await settled();
  assert.equal(page.state().health.state, "ready");
  Fake.all[0].say({ type: "session.created", utterance_index: 0 });
  await settled();
  return { page, socket: Fake.all[0], voice: byId("composer").elements.namedItem("voice") };
}

test("trying again speaks with the settings of the take, whatever the form has by now", async () => {
  const { page, socket, voice } = await opened();
  voice.value = "one";
  byId("text").value = "Hello.";
  byId("composer").fire("submit");
  await settled();
  socket.say({ type: "session.updated" });
  socket.say({ type: "error", code: "queue_full", message: "busy", utterance_index: 0, fatal: false });
  socket.say({ type: "session.done", utterance_index: 0, finish_reason: "error" });
  await settled();
  assert.equal(byId("notice-action").textContent, "Try again");
  voice.value = "two";
  byId("notice-action").onclick({ timeStamp: 1 });
  await settled();
  const { take } = page.state().speech;
  assert.deepEqual(socket.sent.filter((m) => m.type === "session.config").map((m) => m.voice), ["one"], "the server keeps it");
  assert.deepEqual(socket.sent.filter((m) => m.type === "input.text").map((m) => m.text), ["Hello.", "Hello."]);
  assert.deepEqual([take.settings, take.voice], [{ voice: "one" }, "one"]);

  page.state().speech.stop();
  byId("composer").fire("submit");
  await settled();
  assert.equal(page.state().speech.take.settings.voice, "two", "a new take has the form's");
});
