import assert from "node:assert/strict";
import test from "node:test";

import { byId } from "./browser.mjs";
import { Form } from "../static/page/form.js";

test("settings stay when a server comes back, also where the browser keeps nothing", () => {
  const form = new Form(byId("composer"));
  const about = { model: { languages: [] }, voices: [] };
  form.offer(about);
  form.field("instructions").value = "softly";
  form.field("seed").value = "7";
  form.changed();
  form.offer(about);
  assert.deepEqual(form.settings(), { instructions: "softly", seed: 7 });
});
