// The calls that wait: one card in front, the others behind it, none lost. A card goes away when
// the engine says that the call is settled, however that came about; never before.
import { card } from "./card.js";
import { make } from "./dom.js";
import { announce, tell, tellError } from "./notes.js";
import { question, QUESTION_TOOL } from "./question.js";
import { clock, visibleLine } from "./visible.js";
import { say } from "./wire.js";

/** @typedef {import("./types.js").ToolRequest} ToolRequest */
/** @typedef {import("./types.js").AnyEvent} AnyEvent */
/** @typedef {import("./types.js").Command} Command */
/** @typedef {{request: ToolRequest, root: HTMLElement, title: HTMLElement, left: HTMLElement, refuse: (problem: string) => void, endsAt: number, busy: boolean, answered: string, listed: boolean}} Waiting */

const DEAF_MS = 500; // a click or key that was meant for what stood here before answers nothing
const TICK_MS = 1_000;
const SOON_S = 60;

export class Queue {
  /**
   * @param {HTMLElement} root
   * @param {() => void} changed called when the number of cards has changed
   * @param {() => boolean} canChange whether the engine takes changed arguments
   */
  constructor(root, changed, canChange) {
    this._root = root;
    this._changed = changed;
    this._canChange = canChange;
    /** @type {Map<string, Waiting>} */
    this._waiting = new Map();
    /** @type {Set<string>} */
    this._settled = new Set();
    /** @type {Waiting | null} */
    this._front = null;
    this._hearsFrom = 0;
    this._live = false; // what is told happens now; before that, the page is told what happened
    setInterval(() => this._tick(), TICK_MS);
    root.addEventListener("click", (event) => this._guard(event), { capture: true });
    root.addEventListener("submit", (event) => this._guard(event), { capture: true });
  }

  get size() {
    return this._waiting.size;
  }

  /** Everything is told again: what is not told again is gone. */
  begin() {
    for (const each of this._waiting.values()) each.listed = false;
    this._settled.clear();
    this._live = false;
  }

  /** How things stand was told; `calls` wait, with the time they have left. @param {readonly ToolRequest[]} calls */
  pending(calls) {
    this._live = true;
    for (const request of calls) this.add(request);
    for (const each of [...this._waiting.values()]) if (!each.listed) this._remove(each);
    this._show();
  }

  /** @param {ToolRequest} request */
  add(request) {
    if (this._settled.has(request.call_id)) return;
    const known = this._waiting.get(request.call_id);
    const endsAt = performance.now() + (request.expires_in_s ?? Infinity) * 1000;
    if (known) {
      known.endsAt = endsAt;
      known.listed = true;
    } else {
      this._waiting.set(request.call_id, this._make(request, endsAt));
    }
    this._show();
  }

  /** @param {AnyEvent} event */
  take(event) {
    if (event.type === "tool_request") this.add(event);
    else if (event.type === "error") this._refused(event.error.message);
    else if (event.type === "info") this._refused(event.message);
    else if (event.type === "call_settled" || event.type === "tool_cancelled" || event.type === "tool_result" || event.type === "tool_running") {
      this._settled.add(event.call_id);
      const gone = this._waiting.get(event.call_id);
      if (!gone) return;
      if (event.type === "call_settled" && this._live) toldOf(gone, event);
      this._remove(gone);
      this._show();
    }
  }

  /** What the engine says about an answer begins with its call. @param {string} told */
  _refused(told) {
    for (const [callId, waiting] of this._waiting) {
      if (waiting.answered && told.startsWith(`${callId}: `)) waiting.refuse(told.slice(callId.length + 2));
    }
  }

  /** The engine is gone, and with it all questions. */
  clear() {
    for (const each of [...this._waiting.values()]) this._remove(each);
    this._show();
  }

  /** Go to the question in front, if there is one. */
  focus() {
    this._front?.title.focus();
    return this._front !== null;
  }

  /** @param {ToolRequest} request @param {number} endsAt @returns {Waiting} */
  _make(request, endsAt) {
    const asks = request.tool.name === QUESTION_TOOL;
    const title = make("h2", { tabindex: "-1", id: `card-${request.call_id}` }, asks ? visibleLine(request.tool.args.header ?? "A question", 60) : visibleLine(request.tool.name, 60));
    const agent = request.agent?.length ? make("span", { class: "chip agent" }, `asked by ${request.agent.map((part) => visibleLine(part, 40)).join(" / ")}${request.task ? ` (${visibleLine(request.task, 60)})` : ""}`) : null;
    const category = asks ? null : make("span", { class: "chip" }, visibleLine(request.tool.category, 20));
    const left = make("span", { class: "left", role: "timer" });
    const send = (/** @type {Command} */ command) => void this._send(request.call_id, command);
    const again = () => {
      this._hearsFrom = performance.now() + DEAF_MS;
      title.focus();
      announce("Nothing runs yet: read the question again.");
    };
    const none = { root: asks ? question(request, send) : null, refuse: () => {} };
    const { root: body, refuse } = asks ? none : card(request, send, this._canChange() ? again : null);
    const root = make("section", { class: "card", "aria-labelledby": title.id }, make("header", {}, title, category, agent, make("span", { class: "behind" }), left), body);
    return { request, root, title, left, refuse, endsAt, busy: false, answered: "", listed: true };
  }

  /** @param {string} callId @param {Command} command */
  async _send(callId, command) {
    const waiting = this._waiting.get(callId);
    if (!waiting || waiting.busy) return;
    waiting.busy = true;
    waiting.answered = command.type;
    waiting.root.classList.add("busy");
    try {
      await say(command);
    } catch (error) {
      waiting.answered = "";
      tellError(error);
    }
    waiting.busy = false; // if it still waits, the answer was not taken: it can be given again
    waiting.root.classList.remove("busy");
  }

  /** @param {Waiting} gone */
  _remove(gone) {
    this._waiting.delete(gone.request.call_id);
    gone.root.remove();
  }

  /** Put the oldest question in front. */
  _show() {
    const first = this._waiting.values().next().value ?? null;
    if (first !== this._front) {
      const hadFocus = this._front !== null && (document.activeElement === document.body || this._root.contains(document.activeElement));
      this._front = first;
      this._root.replaceChildren();
      this._hearsFrom = performance.now() + DEAF_MS;
      if (first) {
        this._root.append(first.root);
        announce(`${first.title.textContent ?? ""} needs your answer. F6 goes there.`);
        if (hadFocus) first.title.focus();
      }
    }
    const behind = first?.root.querySelector(".behind");
    if (behind) behind.textContent = this.size > 1 ? `1 of ${this.size} waiting` : "";
    this._tick();
    this._changed();
  }

  _tick() {
    if (this._front === null || this._front.endsAt === Infinity) return;
    const seconds = (this._front.endsAt - performance.now()) / 1000;
    this._front.left.textContent = `${clock(seconds)} left`;
    this._front.left.classList.toggle("soon", seconds < SOON_S);
  }

  /** Swallow what was pressed before this card was there. @param {Event} event */
  _guard(event) {
    const deaf = performance.now() < this._hearsFrom && event.target instanceof Element && event.target.closest("button, form") !== null;
    if (!deaf) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/**
 * Say why a card went away, unless this page answered it.
 * @param {Waiting} gone
 * @param {Extract<AnyEvent, {type: "call_settled"}>} event
 */
function toldOf(gone, event) {
  const name = visibleLine(gone.request.tool.name, 40);
  const verdict = gone.answered === "tool_approve" ? "approved" : gone.answered === "tool_deny" ? "denied" : "";
  if (event.by === "user" && event.outcome === verdict) return;
  /** @type {{[by: string]: string}} */
  const why = { user: `another tab answered first: ${event.outcome}`, timeout: "nobody answered in time", stop: "the turn was stopped", policy: "a rule decided", host_gone: "the engine was ending", signal: "the engine was ending" };
  tell(`The question about ${name} is gone: ${why[event.by] ?? event.outcome}.`);
}
