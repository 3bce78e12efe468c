// The conversation as it is read: what was said, what was done, in order.
import { acceptance } from "./accepting.js";
import { CallRow } from "./calls.js";
import { make, put } from "./dom.js";
import { Speech } from "./speech.js";
import { visible } from "./visible.js";

/** @typedef {import("./types.js").AnyEvent} AnyEvent */

const NEAR_END_PX = 80; // who is this close to the end wants to see what comes

export class Transcript {
  /** @param {HTMLElement} root @param {HTMLElement} latest the button that leads back to the end */
  constructor(root, latest) {
    this.root = root;
    this._latest = latest;
    /** @type {Map<string, CallRow>} */
    this._calls = new Map();
    this._speech = new Speech(root);
    /** @type {Set<CallRow>} */
    this._parents = new Set(); // rows whose sub-agents have spoken
    this._follows = true;
    this._drawing = false;
    this._top = 0; // where it was scrolled to when last looked
    new ResizeObserver(() => this._stay()).observe(root); // a card takes room, and gives it back
    root.addEventListener("scroll", () => this._looked(), { passive: true });
    latest.addEventListener("click", () => this.toEnd());
  }

  /** Forget everything: it is told again from the start. */
  clear() {
    for (const call of this._calls.values()) call.leave();
    this._calls.clear();
    this._parents.clear();
    this._speech = new Speech(this.root);
    this.root.replaceChildren();
    this._follows = true;
  }

  /** Go to the end and stay there. */
  toEnd() {
    this._follows = true;
    this._draw();
  }

  /** @param {AnyEvent} event */
  take(event) {
    switch (event.type) {
      case "host_said":
        this._add(make("div", { class: "said" }, make("h2", { class: "unseen" }, "You"), make("p", {}, visible(event.text))));
        this.toEnd();
        break;
      case "text_delta":
        this._speech.add("text", event.text, "");
        break;
      case "thinking":
        this._speech.add("thinking", event.text, "");
        break;
      case "sub_agent_event":
        this._subAgent(event);
        break;
      case "tool_request":
      case "call_announced":
        this._announce(event);
        break;
      case "call_settled":
      case "tool_running":
      case "tool_chunk":
      case "tool_result":
      case "tool_cancelled":
        this._calls.get(event.call_id)?.take(event);
        break;
      case "stream_start":
        this._end();
        break;
      case "stream_end":
        this._end();
        this._over(event);
        break;
      case "info":
        this._note("note", this._withoutId(event.message));
        if (event.digest) this._add(acceptance(event.message, event.digest));
        break;
      case "host_note":
        this._note("note", event.text);
        break;
      case "mcp_failed":
        this._note("problem", `MCP server ${event.name}: ${event.reason}`);
        break;
      case "mcp_ready":
        this._note("note", `MCP server ${event.name}: ${event.tools.length} tools`);
        break;
      case "error":
        this._note("problem", `${event.error.message} (${event.error.code})`);
        break;
      case "host_history":
        for (const message of event.messages) this._remember(message);
        break;
      default:
        return;
    }
    this._soon();
  }

  /** @param {string} kind @param {string} text */
  note(kind, text) {
    this._note(kind, text);
    this._soon();
  }

  /** @param {Node} node */
  _add(node) {
    this._end();
    this.root.append(node);
  }

  /** @param {string} kind @param {string} text */
  _note(kind, text) {
    this._add(make("p", { class: kind }, visible(text)));
  }

  /** What is told of a call, without the id that only programs know it by. @param {string} message */
  _withoutId(message) {
    const id = message.split(": ", 1)[0];
    return this._calls.has(id) ? message.slice(id.length + 2) : message;
  }

  /** What was being said is whole. */
  _end() {
    this._speech.end();
  }

  /** What a sub-agent says is folded under the call that started it. @param {Extract<AnyEvent, {type: "sub_agent_event"}>} event */
  _subAgent(event) {
    const inner = /** @type {{type?: string, text?: unknown}} */ (event.inner);
    if (inner.type !== "text_delta" && inner.type !== "thinking") return;
    const kind = inner.type === "thinking" ? "thinking" : "text";
    const row = this._calls.get(event.parent_call_id);
    if (row === undefined) {
      this._speech.add(kind, String(inner.text), event.agent_name);
      return;
    }
    row.hear(kind, String(inner.text), event.agent_name);
    this._parents.add(row);
  }

  /** @param {Extract<AnyEvent, {type: "tool_request" | "call_announced"}>} event */
  _announce(event) {
    if (this._calls.has(event.call_id)) return;
    for (const parent of this._parents) parent.pause((event.agent ?? []).join("/"));
    const row = new CallRow(event);
    this._calls.set(event.call_id, row);
    this._add(row.root);
  }

  /** @param {Extract<AnyEvent, {type: "stream_end"}>} event */
  _over(event) {
    for (const call of this._calls.values()) call.leave();
    this._parents.clear();
    const usage = event.usage;
    const tokens = usage && usage.input_tokens + usage.output_tokens > 0 ? `${usage.input_tokens.toLocaleString()} tokens in, ${usage.output_tokens.toLocaleString()} out in this session${usage.active_window_percent === undefined ? "" : `, ${usage.active_window_percent} % of the context`}` : "";
    const ends = /** @type {{[reason: string]: string}} */ ({ length: "The answer was cut: it became too long.", error: "The turn ended with an error.", max_turns: "The turn ended: too many replies for one message." });
    put(this.root, ends[event.finish_reason] ? make("p", { class: "problem" }, ends[event.finish_reason]) : null, tokens ? make("p", { class: "usage" }, tokens) : null);
  }

  /** One message of an earlier time. @param {{[name: string]: any}} message */
  _remember(message) {
    if (message.role === "user") this._add(make("div", { class: "said" }, make("p", {}, visible(message.text ?? ""))));
    if (message.role === "assistant") {
      if (message.thinking) this._speech.add("thinking", message.thinking, "");
      if (message.text) this._speech.add("text", message.text, "");
      for (const call of message.calls ?? []) {
        const tool = { name: String(call.tool), category: "exec", args: call.args ?? {}, description: "" };
        this._announce(/** @type {any} */ ({ type: "call_announced", msg_id: message.msg_id, call_id: call.call_id, tool }));
      }
    }
    if (message.role === "tool") this._calls.get(message.call_id)?.take(/** @type {any} */ ({ ...message, type: "tool_result" }));
    this._end();
  }

  // --- drawing ----------------------------------------------------------------------------------

  /** Draw with the next frame: many pieces of text cost one. */
  _soon() {
    if (this._drawing) return;
    this._drawing = true;
    requestAnimationFrame(() => {
      this._drawing = false;
      this._draw();
    });
  }

  _draw() {
    this._speech.flush();
    for (const row of this._parents) row.flush();
    this._stay();
    requestAnimationFrame(() => this._stay()); // what came into view has its real height now
  }

  _stay() {
    if (this._follows) this.root.scrollTop = this.root.scrollHeight;
    this._latest.hidden = this._follows;
  }

  /** Only a person scrolls up; that the text grows is no reason to leave its end. */
  _looked() {
    const { scrollTop, scrollHeight, clientHeight } = this.root;
    if (scrollHeight - scrollTop - clientHeight < NEAR_END_PX) this._follows = true;
    else if (scrollTop < this._top) this._follows = false;
    this._top = scrollTop;
    this._latest.hidden = this._follows;
  }
}
