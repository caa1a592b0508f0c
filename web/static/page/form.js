// The settings of a request, as the form has them.

import { byId, element } from "./dom.js";

const NUMBERS = ["speed", "temperature", "top_k", "top_p", "repetition_penalty", "subtalker_temperature", "subtalker_top_k", "subtalker_top_p"];
const KEPT = ["voice", "language", "seed", "instructions", ...NUMBERS];
const STORE = "mynah.settings";

/** Form reads, fills and keeps the settings. */
export class Form {
  constructor(form) {
    this.form = form;
    this.kept = null; // as it was changed last
    this.extra = {}; // fields that are no part of the form: a voice to imitate
    this.onchange = () => {};
    form.addEventListener("input", (e) => {
      if (KEPT.includes(e.target.name)) this.changed();
    });
    byId("defaults").addEventListener("click", () => {
      for (const name of NUMBERS) this.field(name).value = "";
      this.changed();
    });
  }

  field(name) {
    return this.form.elements.namedItem(name);
  }

  changed() {
    this.kept = Object.fromEntries(KEPT.map((name) => [name, this.field(name).value]).filter(([, value]) => value !== ""));
    try {
      localStorage.setItem(STORE, JSON.stringify(this.kept));
    } catch { /* some windows keep nothing */ }
    this.onchange();
  }

  /** offer fills in what the server has. Fields without a choice are left out. */
  offer({ model, voices }) {
    this.options("voice", voices.map((v) => [v.id, v.kind === "alias" ? `${v.name} (${v.of})` : v.name]), "Default");
    this.options("language", model.languages.map((l) => [l, l.charAt(0).toUpperCase() + l.slice(1)]), "Automatic");
    const instructions = byId("instructions-field");
    instructions.hidden = !model.instructions;
    if (model.task_type === "VoiceDesign") instructions.firstElementChild.textContent = "What the voice is like";
    this.fill(this.stored());
  }

  options(name, all, none) {
    const select = this.field(name);
    select.replaceChildren(element("option", { value: "" }, none), ...all.map(([value, label]) => element("option", { value }, label)));
    select.closest(".field").hidden = all.length === 0;
  }

  stored() {
    if (this.kept) return this.kept;
    try {
      return JSON.parse(localStorage.getItem(STORE) ?? "{}");
    } catch {
      return {};
    }
  }

  /** fill sets fields; what is not named is emptied. */
  fill(values) {
    for (const name of KEPT) {
      const field = this.field(name);
      const value = values[name] === undefined ? "" : String(values[name]);
      field.value = value;
      if (field.tagName === "SELECT" && field.selectedIndex < 0) field.value = "";
    }
    if (NUMBERS.some((name) => this.field(name).value !== "")) byId("more").open = true;
  }

  /** settings are the request's fields, without those left as they are. Bad values are told at their field. */
  settings() {
    const all = {};
    for (const name of KEPT) {
      const field = this.field(name);
      const value = field.value.trim();
      if (value === "" || field.closest(".field").hidden) continue;
      all[name] = NUMBERS.includes(name) ? Number(value) : value;
    }
    if (all.seed !== undefined) all.seed = Number(all.seed);
    if (this.extra.ref_audio) delete all.voice; // only one of them can speak
    return { ...all, ...this.extra };
  }

  /** check tells at its field what cannot be sent. */
  check() {
    const seed = this.field("seed");
    const good = /^\d*$/.test(seed.value.trim()) && Number(seed.value) <= Number.MAX_SAFE_INTEGER;
    seed.setCustomValidity(good ? "" : "A whole number, or nothing for a random one.");
    if (!this.form.checkValidity()) byId("more").open ||= NUMBERS.some((name) => !this.field(name).validity.valid);
    return this.form.reportValidity();
  }
}
