import assert from "node:assert/strict";
import test from "node:test";

import { Health } from "../static/page/health.js";

/** server answers what a server that is well does, and keeps what it was asked with. */
function server() {
  const headers = [];
  globalThis.fetch = async (url, options) => {
    headers.push(new Headers(options.headers).get("Authorization"));
    return { status: 200, json: async () => (url.pathname.endsWith("models") ? { data: [{ id: "m" }] } : { voices: [] }) };
  };
  return headers;
}

test("a fault of the page is no server that is away", async () => {
  server();
  const health = new Health("http://host:1/");
  const states = [];
  health.onchange = (state) => {
    states.push(state);
    throw new SyntaxError("of the page");
  };
  await assert.rejects(health.look(), SyntaxError);
  assert.deepEqual([states, health.state], [["ready"], "ready"]);
  health.onchange = (state) => states.push(state);
  globalThis.fetch = async () => { throw new TypeError("failed to fetch"); };
  await health.look();
  assert.deepEqual(states, ["ready", "offline"]);
});

test("a key of any characters is sent as its bytes in UTF-8", async () => {
  for (const key of ["sk-good", "a/b+c==", "clé “1”", "钥匙"]) {
    const headers = server();
    const health = new Health("http://host:1/", { key: () => key });
    await health.look();
    assert.equal(health.state, "ready", key);
    assert.equal(Buffer.from(headers[0], "latin1").toString("utf8"), `Bearer ${key}`);
  }
});

test("what a server can do is asked again when it was gone, however it went", async () => {
  const health = new Health("http://host:1/");
  const gone = {
    offline: async () => { throw new TypeError("failed to fetch"); },
    draining: async () => ({ status: 503, json: async () => ({ error: { code: "shutting_down" } }) }),
    loading: async () => ({ status: 503, json: async () => ({ error: { code: "loading" } }) }),
  };
  server();
  await health.look();
  for (const [state, answer] of Object.entries(gone)) {
    globalThis.fetch = answer;
    await health.look();
    assert.equal(health.state, state);
    globalThis.fetch = async (url) => ({ status: 200, json: async () => (url.pathname.endsWith("models") ? { data: [{ id: `after ${state}` }] } : { voices: [{ id: state }] }) });
    await health.look();
    assert.deepEqual([health.state, health.about], ["ready", { model: { id: `after ${state}` }, voices: [{ id: state }] }]);
  }
});
