// The list of takes.

import { element, icon, write } from "./dom.js";
import { OUTCOMES, clock } from "./words.js";

const SAVE = "M12 4v11M7 11l5 5 5-5M5 20h14";
const REMOVE = "M6 6l12 12M18 6L6 18";
const REUSE = "M4 12a8 8 0 1 0 3-6.2M4 4v5h5";

/** History shows takes, newest first. */
export class History {
  constructor(list, empty, { pick, save, remove, reuse }) {
    this.list = list;
    this.empty = empty;
    this.act = { pick, save, remove, reuse };
    this.rows = new Map();
  }

  add(take) {
    const words = element("span", { className: "words" });
    const facts = element("span", { className: "facts" });
    const pick = element("button", { type: "button", className: "pick", onclick: () => this.act.pick(take) }, words, facts);
    const tool = (path, name, act) => element("button", { type: "button", className: "icon", title: name, onclick: () => act(take) }, icon(path));
    const save = tool(SAVE, "Download WAV", this.act.save);
    const reuse = tool(REUSE, "Use this text and voice again", this.act.reuse);
    const remove = tool(REMOVE, "Remove", this.act.remove);
    const row = element("li", { className: "take" }, pick, element("span", { className: "tools" }, reuse, save, remove));
    this.rows.set(take, { row, words, facts, save, reuse, remove });
    this.list.prepend(row);
    this.empty.hidden = true;
    this.update(take);
  }

  update(take) {
    const r = this.rows.get(take);
    if (!r) return;
    const text = take.text.trim().replace(/\s+/g, " ").slice(0, 120) || "…";
    write(r.words, text);
    for (const [button, name] of [[r.save, "Download"], [r.reuse, "Use again"], [r.remove, "Remove"]]) {
      button.setAttribute("aria-label", `${name}: ${text.slice(0, 40)}`);
    }
    const facts = [take.pcm.length > 0 ? clock(take.pcm.seconds) : "", take.dropped ? "audio let go" : "", take.voice, take.seed === null ? "" : `seed ${take.seed}`];
    write(r.facts, facts.filter(Boolean).join(" · "));
    const outcome = OUTCOMES[take.state];
    if (outcome) {
      const bad = take.state === "failed" || take.state === "cut";
      r.facts.append(r.facts.textContent ? " · " : "", bad ? element("b", {}, outcome) : outcome);
    }
    r.save.disabled = take.pcm.length === 0;
  }

  select(take) {
    for (const [each, { row }] of this.rows) {
      if (each === take) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  remove(take) {
    this.rows.get(take)?.row.remove();
    this.rows.delete(take);
    this.empty.hidden = this.rows.size > 0;
  }
}
