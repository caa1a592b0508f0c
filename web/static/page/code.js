// The request as code, in tabs.

import { byId, element, write } from "./dom.js";
import * as snippets from "./snippets.js";

const TABS = [["curl", "curl"], ["python", "Python"], ["javascript", "JavaScript"]];

/** Code shows the request that the form would make. */
export class Code {
  constructor(request) {
    this.request = request; // () => {text, settings, model, keyed}
    this.chosen = 0;
    this.tabs = TABS.map(([name, label], i) => {
      const tab = element("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "code", onclick: () => this.choose(i) }, label);
      tab.addEventListener("keydown", (e) => this.key(e, i));
      return tab;
    });
    byId("tabs").append(...this.tabs);
    byId("copy").addEventListener("click", () => this.copy());
    this.choose(0);
  }

  key(e, i) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    this.choose((i + step + TABS.length) % TABS.length);
    this.tabs[this.chosen].focus();
  }

  choose(i) {
    this.chosen = i;
    this.tabs.forEach((tab, k) => {
      tab.setAttribute("aria-selected", String(k === i));
      tab.tabIndex = k === i ? 0 : -1;
    });
    byId("code").setAttribute("aria-labelledby", this.tabs[i].id);
    this.update();
  }

  update() {
    const { text, settings, model, keyed } = this.request();
    const body = snippets.body(text || "Hello there.", settings, model);
    write(byId("code"), snippets[TABS[this.chosen][0]](location.href.replace(/\/[^/]*$/, ""), body, keyed));
  }

  async copy() {
    const text = byId("code").textContent;
    try {
      await navigator.clipboard.writeText(text);
      this.said("Copied");
    } catch { // plain http of another machine: the text is at least marked
      getSelection().selectAllChildren(byId("code"));
      this.said(document.execCommand("copy") ? "Copied" : "Marked: copy it");
    }
  }

  said(word) {
    write(byId("copy"), word);
    write(byId("announce"), word);
    setTimeout(() => write(byId("copy"), "Copy"), 1600);
  }
}
