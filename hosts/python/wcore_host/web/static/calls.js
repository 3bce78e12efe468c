// One call in the conversation: what it is, how it stands, and its output for who wants to see it.
import { make, put } from "./dom.js";
import { shown } from "./preview.js";
import { Speech } from "./speech.js";
import { asText, duration, visible, visibleLine } from "./visible.js";

/** @typedef {import("./types.js").AnyEvent} AnyEvent */
/** @typedef {Extract<AnyEvent, {type: "tool_request" | "call_announced"}>} Announced */

const OUTPUT_CHARS_MAX = 200_000; // of running output kept; the result has the rest
const CLOCK_MS = 1_000;
const STATES = /** @type {{[state: string]: string}} */ ({
  waiting: "waits for you",
  allowed: "allowed",
  announced: "",
  running: "running",
  success: "done",
  error: "failed",
  cancelled: "did not run",
});
const SIGNS = /** @type {{[state: string]: string}} */ ({ waiting: "?", running: "›", success: "✓", error: "!", cancelled: "–" });
const SETTLED_BY = /** @type {{[by: string]: string}} */ ({
  user: "by you",
  timeout: "nobody answered in time",
  host_gone: "nobody was there to ask",
  stop: "the turn was stopped",
  signal: "the engine was ending",
  policy: "by a rule",
});

export class CallRow {
  /** @param {Announced} event */
  constructor(event) {
    this._event = event;
    this._output = "";
    this._reason = "";
    this._isChanged = false;
    this._told = make("div", { class: "sub", hidden: true }); // what its sub-agents say
    this._speech = new Speech(this._told);
    /** @type {Text | null} */
    this._shown = null; // the output, while somebody looks at it
    this._began = 0;
    this._timer = 0;
    this._state = make("span", { class: "state" });
    this._sign = make("span", { class: "sign", "aria-hidden": "true" });
    this._body = make("div", { class: "inside" });
    const name = make("span", { class: "tool" }, visibleLine(event.tool.name, 80));
    this._what = make("span", { class: "what" }, described(event.tool));
    const agent = event.agent?.length ? make("span", { class: "agent" }, event.agent.map((part) => visibleLine(part, 40)).join(" / ")) : null;
    this.root = make("details", { class: "call" }, make("summary", {}, this._sign, name, agent, this._what, this._state), this._body);
    this.root.addEventListener("toggle", () => this._open());
    this._set(event.type === "tool_request" ? "waiting" : "announced", "");
  }

  /** @param {AnyEvent} event */
  take(event) {
    if (event.type === "call_settled") {
      const by = SETTLED_BY[event.by] ?? event.by;
      this._reason = `${event.outcome}: ${by}`;
      if (event.args) this._change(event.args);
      if (event.outcome === "approved") this._set("allowed", "");
    } else if (event.type === "tool_running") this._run();
    else if (event.type === "tool_chunk") this._more(event.chunk);
    else if (event.type === "tool_result") {
      this._output = event.output;
      this._finish(event.status === "success" ? "success" : "error", "");
    } else if (event.type === "tool_cancelled") {
      this._reason = event.reason;
      this._finish("cancelled", event.reason);
    }
    if (this.root.open && event.type !== "tool_chunk") this._open();
  }

  /** A person has changed what it does. @param {import("./types.js").ToolInfo["args"]} args */
  _change(args) {
    this._event = { ...this._event, tool: { ...this._event.tool, args } };
    this._isChanged = true;
    this._reason += ", with changed arguments";
    this._what.textContent = `changed: ${described(this._event.tool)}`;
  }

  /** A sub-agent says something. @param {string} kind @param {string} text @param {string} agent */
  hear(kind, text, agent) {
    this._told.hidden = false;
    this._speech.add(kind, text, agent);
  }

  /** A sub-agent makes a call: what it says after that is another paragraph. @param {string} agent */
  pause(agent) {
    this._speech.pause(agent);
  }

  /** Show what sub-agents have said. */
  flush() {
    this._speech.flush();
  }

  /** Nothing more comes. */
  leave() {
    this._speech.end();
    clearInterval(this._timer);
    this._timer = 0;
  }

  /** @param {string} state @param {string} more */
  _set(state, more) {
    this.root.dataset.state = state;
    this._sign.textContent = SIGNS[state] ?? "·";
    const text = STATES[state] ?? state;
    this._state.textContent = more ? `${text}${text ? ", " : ""}${visibleLine(more, 160)}` : text;
  }

  _run() {
    if (this._timer !== 0) return;
    this._began = performance.now();
    this._set("running", "");
    this._timer = setInterval(() => this._set("running", this._elapsed()), CLOCK_MS);
  }

  /** @param {string} chunk */
  _more(chunk) {
    this._output = (this._output + chunk).slice(-OUTPUT_CHARS_MAX);
    if (!this.root.open) return;
    if (this._shown === null) this._open();
    else this._shown.data = visible(this._output);
  }

  /** @param {string} state @param {string} more */
  _finish(state, more) {
    this.leave();
    const took = this._began && performance.now() - this._began > CLOCK_MS ? this._elapsed() : "";
    this._set(state, more || took);
  }

  _elapsed() {
    return duration((performance.now() - this._began) / 1000);
  }

  /** Fill the inside when somebody looks, and only then. */
  _open() {
    this._shown = null;
    this._body.replaceChildren();
    if (!this.root.open) return;
    const { tool, preview, why } = /** @type {Extract<AnyEvent, {type: "tool_request"}>} */ (this._event);
    put(this._body, this._isChanged ? shown(tool, undefined, undefined) : shown(tool, preview, why?.span));
    if (why) put(this._body, make("p", { class: "why" }, `Decided by: ${reason(why)}`));
    if (this._reason) put(this._body, make("p", { class: "why" }, `Ended: ${visible(this._reason)}`));
    put(this._body, this._told);
    if (!this._output) return;
    this._shown = document.createTextNode(visible(this._output));
    put(this._body, make("pre", { class: "code output", tabindex: "0", role: "group", "aria-label": "Output" }, make("code", {}, this._shown)));
  }
}

/**
 * Why a call asks, or does not, and the place of the rule.
 * @param {import("./types.js").Why} why
 */
export function reason(why) {
  const facts = [why.row, why.code, why.rule, why.source].filter((fact) => fact).map((fact) => visibleLine(fact, 200));
  return `${visibleLine(why.detail || "it is not allowed yet", 600)}${facts.length ? ` (${facts.join(" · ")})` : ""}`;
}

/** The call in a few words. @param {import("./types.js").ToolInfo} tool */
function described(tool) {
  const { command, file_path: file, path, pattern, question } = tool.args;
  const main = command ?? file ?? pattern ?? path ?? question ?? Object.values(tool.args)[0] ?? "";
  return visibleLine(asText(main), 160);
}
