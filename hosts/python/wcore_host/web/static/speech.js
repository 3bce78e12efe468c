// What somebody says, as it comes: text or thinking, each behind the name of who says it.
import { make } from "./dom.js";
import { Flow } from "./flow.js";
import { visibleLine } from "./visible.js";

export class Speech {
  /** @param {HTMLElement} root */
  constructor(root) {
    this._root = root;
    /** @type {{kind: string, agent: string, flow: Flow} | null} */
    this._now = null;
  }

  /** @param {string} kind `text` or `thinking` @param {string} text @param {string} agent "" is the main one */
  add(kind, text, agent) {
    if (this._now?.kind !== kind || this._now.agent !== agent) {
      this.end();
      this._now = { kind, agent, flow: new Flow() };
      this._root.append(spoken(kind, agent, this._now.flow));
    }
    this._now.flow.add(text);
  }

  /** Show what has come. */
  flush() {
    this._now?.flow.flush();
  }

  /** @param {string} agent */
  pause(agent) {
    if (this._now?.agent === agent) this.end();
  }

  /** What was being said is whole. */
  end() {
    this._now?.flow.end();
    this._now = null;
  }
}

/** @param {string} kind @param {string} agent @param {Flow} flow */
function spoken(kind, agent, flow) {
  const who = agent ? `${visibleLine(agent, 60)}: ` : "";
  if (kind === "thinking") return make("details", { class: "thinking" }, make("summary", {}, `${who}Thinking`), flow.root);
  const label = agent ? make("p", { class: "agent" }, visibleLine(agent, 60)) : make("h2", { class: "unseen" }, "wcore");
  return make("div", { class: "told" }, label, flow.root);
}
