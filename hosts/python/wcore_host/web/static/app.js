// The page: what the server tells goes to the conversation, the waiting questions and the header.
import { Completion } from "./complete.js";
import { byId, make, replace } from "./dom.js";
import { chooseMode, meaning, modeName } from "./modes.js";
import { announce, tell, tellError } from "./notes.js";
import { Queue } from "./queue.js";
import { RecordsView } from "./records.js";
import { SettingsView } from "./settings.js";
import { Transcript } from "./transcript.js";
import { visible, visibleLine } from "./visible.js";
import { enter, listen, post, say } from "./wire.js";

/** @typedef {import("./types.js").AnyEvent} AnyEvent */
/** @typedef {import("./types.js").HostState} HostState */

const ROWS_PX_MAX = 240; // of the message field

const say_ = /** @type {HTMLTextAreaElement} */ (byId("say"));
const send = /** @type {HTMLButtonElement} */ (byId("send"));
const stop = byId("stop");
const mode = /** @type {HTMLButtonElement} */ (byId("mode"));

/** @type {HostState} */
let host = { engine: "starting" };
let connected = false;
let live = false; // what is told happens now; before that, the page is told what happened

const transcript = new Transcript(byId("transcript"), byId("latest"));
const queue = new Queue(byId("cards"), showTitle, () => host.capabilities?.edit_args === true);
const settings = new SettingsView(byId("settings"), () => host);
const records = new RecordsView(byId("records"), continueSession);
const completion = new Completion(say_, byId("files"));

// --- what the server tells --------------------------------------------------------------------------

/** @param {AnyEvent[]} events */
function take(events) {
  for (const event of events) {
    switch (event.type) {
      case "host_hello":
        live = false;
        transcript.clear();
        queue.begin();
        setHost(event);
        if (event.cut) transcript.note("note", "Earlier parts of this conversation are no longer kept here; `wcore sessions export` has them.");
        break;
      case "host_state":
        setHost(event);
        break;
      case "host_cleared":
        transcript.clear();
        break;
      case "host_pending":
        queue.pending(event.calls);
        live = true;
        break;
      case "config_changed":
        break; // the server tells its own state
      default:
        transcript.take(event);
        queue.take(event);
        if (event.type === "tool_request" && event.agent) settings.seen(event.agent.join("/"));
        if (live) noticed(event);
    }
  }
}

/** @param {AnyEvent} event */
function noticed(event) {
  if (event.type === "call_settled") settings.grantsChanged();
  if (event.type === "stream_end") announce("The turn is over.");
  if (!byId("chat").hidden) return; // the conversation shows it
  if (event.type === "info" && event.msg_id === "") tell(event.message);
  if (event.type === "error") tell(event.error.message);
}

/** @param {HostState} state */
function setHost(state) {
  const before = host;
  host = state;
  if (host.engine !== "running") queue.clear();
  const caps = host.capabilities;
  if (caps && JSON.stringify(caps) !== JSON.stringify(before.capabilities)) settings.modeChanged();
  if (JSON.stringify(host.servers) !== JSON.stringify(before.servers)) settings.serversChanged();
  showHeader();
  showEnding();
}

// --- header and composer ------------------------------------------------------------------------------

function showHeader() {
  const caps = host.capabilities;
  const running = connected && host.engine === "running";
  mode.disabled = !running;
  if (caps) {
    mode.textContent = `Mode: ${modeName(caps.current_mode)}`;
    mode.title = meaning(caps.current_mode);
    mode.dataset.mode = caps.current_mode;
  }
  const model = caps?.current_model ? `model ${visibleLine(caps.current_model, 60)}` : "";
  const state = !connected ? "not connected" : host.engine === "running" ? (host.turn ? "working" : "ready") : host.engine === "gone" ? "engine ended" : "engine starts";
  replace(byId("where"), make("span", { class: `dot ${running ? (host.turn ? "busy" : "ok") : "bad"}`, "aria-hidden": "true" }), [state, model].filter((part) => part).join(" · "));
  say_.disabled = !running;
  send.disabled = !running || Boolean(host.turn);
  send.hidden = Boolean(running && host.turn);
  stop.hidden = !send.hidden;
}

function showTitle() {
  document.title = queue.size > 0 ? `(${queue.size}) wcore asks` : "wcore";
}

/** Say plainly that the engine is gone, or that a turn was interrupted, and what can be done. */
function showEnding() {
  const root = byId("gone");
  const left = host.interrupted_turn;
  root.hidden = !(host.engine === "gone" || (host.engine === "running" && left));
  if (root.hidden) root.replaceChildren();
  else if (host.engine === "gone") {
    replace(
      root,
      make("h2", {}, "The engine is gone"),
      make("p", { class: "told-by" }, visible(host.told || "It has ended.")),
      make("p", {}, "Nothing runs any more. What it had asked and nobody answered is asked again after it continues."),
      make(
        "div",
        { class: "answers" },
        make("button", { type: "button", class: "yes", click: () => continueSession(host.session_id ?? "") }, "Continue this session"),
        make("button", { type: "button", click: () => void post("/api/start", {}).catch(tellError) }, "Start a new one"),
      ),
    );
  } else if (left) {
    const what = [left.pending.length ? `${left.pending.length} ${left.pending.length === 1 ? "call" : "calls"} had not started` : "", left.unknown.length ? left.unknown.length === 1 ? "of 1 call nobody knows how far it got" : `of ${left.unknown.length} calls nobody knows how far they got` : ""];
    const resume = (/** @type {string} */ action) => void post("/api/ask", { type: "resume_turn", action }).then((result) => finishResume(result), tellError);
    replace(
      root,
      make("h2", {}, "A turn was interrupted"),
      make("p", {}, `${what.filter((part) => part).join("; ") || "Nothing was waiting"}. Nothing goes on by itself.`),
      make(
        "div",
        { class: "answers" },
        make("button", { type: "button", class: "yes", click: () => resume("continue") }, "Go on with it"),
        make("button", { type: "button", class: "no", click: () => resume("cancel") }, "Cancel it"),
      ),
    );
  }
}

/** @param {{[name: string]: any}} result */
function finishResume(result) {
  if (!result.ok) tell(result.error?.message ?? "the engine refused");
  else if (host.interrupted_turn) setHost({ ...host, interrupted_turn: null });
}

/** Go on with a stored session, or with a new one. @param {string | null} session */
async function continueSession(session) {
  try {
    await post("/api/start", session === null ? {} : { session_id: session });
    show("chat");
  } catch (error) {
    tellError(error);
  }
}

async function submit() {
  const content = say_.value.trim();
  if (!content || send.disabled) return;
  const msg_id = crypto.randomUUID();
  send.disabled = true;
  try {
    await say({ type: "message", msg_id, content });
    say_.value = "";
    fit();
  } catch (error) {
    tellError(error);
  }
  showHeader();
}

function fit() {
  say_.style.height = "auto";
  say_.style.height = `${Math.min(say_.scrollHeight + 2, ROWS_PX_MAX)}px`;
}

// --- views ----------------------------------------------------------------------------------------------

/** @param {string} name */
function show(name) {
  for (const view of document.querySelectorAll("main > .view")) view.toggleAttribute("hidden", view.id !== name);
  for (const button of document.querySelectorAll("nav button")) {
    if (button.getAttribute("data-view") === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  if (name === "settings") settings.open();
  if (name === "records") records.open();
}

for (const button of document.querySelectorAll("nav button")) {
  button.addEventListener("click", () => show(button.getAttribute("data-view") ?? "chat"));
}
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  void submit();
});
say_.addEventListener("input", fit);
say_.addEventListener("keydown", (event) => {
  if (completion.key(event)) return;
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void submit();
});
stop.addEventListener("click", () => void say({ type: "stop" }).catch(tellError));
mode.addEventListener("click", () => {
  const caps = host.capabilities;
  if (caps) void chooseMode(caps.current_mode, caps.modes);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "F6") return;
  event.preventDefault();
  show("chat");
  if (byId("cards").contains(document.activeElement) || !queue.focus()) say_.focus();
});

// --- start ----------------------------------------------------------------------------------------------

/** @param {string} problem */
function connection(problem) {
  connected = problem === "";
  showHeader();
  byId("hint").textContent = problem || "Enter sends, Shift+Enter starts a new line, @ names a file, F6 goes to a waiting question.";
}

try {
  await enter();
  await listen(take, connection);
} catch (error) {
  connection(error instanceof Error ? error.message : String(error));
  transcript.note("problem", error instanceof Error ? error.message : String(error));
}
