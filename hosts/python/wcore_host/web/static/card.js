// The card of a call that waits: what will happen, why it asks, and every answer there is.
import { reason } from "./calls.js";
import { changing, differences, isExact } from "./change.js";
import { make, put, replace } from "./dom.js";
import { shown } from "./preview.js";
import { runsAsAsked, saidOf, standsOut, where } from "./sandbox.js";
import { described, editable, keeps, KEPT, noteOf } from "./scopes.js";
import { visible, visibleLine } from "./visible.js";

/** @typedef {import("./types.js").ToolRequest} ToolRequest */
/** @typedef {import("./types.js").Scope} Scope */
/** @typedef {import("./types.js").Command} Command */
/** @typedef {(command: Command) => void} Answer */
/** @typedef {import("./types.js").ToolInfo["args"]} Args */

let made = 0; // cards so far: each needs names of its own for its fields

/**
 * The inside of a card: everything but its head, which the queue keeps up to date.
 * @param {ToolRequest} request
 * @param {Answer} answer called with what to send
 * @param {(() => void) | null} again called when the card shows something else; `null`: the engine takes no changes
 * @returns {{root: HTMLElement, refuse: (problem: string) => void}}
 */
export function card(request, answer, again) {
  const { call_id, digest, tool } = request;
  const root = make("div", { class: "asks" });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const why = request.why ? make("p", { class: "why" }, make("strong", {}, "It asks because: "), reason(request.why)) : null;
  const place = request.sandbox ? make("p", { class: standsOut(request.sandbox) ? "runs-in unusual" : "runs-in" }, where(request.sandbox)) : null;
  const last = remember(request, visibleLine(tool.name, 60), answer);
  const no = instead(request, answer);
  const deny = make("button", { type: "button", class: "no", click: () => answer({ type: "tool_deny", call_id }) }, "Deny");
  const canChange = again !== null && digest !== undefined && isExact(tool.args);
  /** @param {Args | null} args as the person changed them */
  const draw = (args) => {
    const yes = args === null ? () => answer({ type: "tool_approve", call_id }) : () => answer({ type: "tool_approve", call_id, args, digest });
    const undo = args && make("button", { type: "button", click: () => change(tool.args) }, "Undo my changes");
    const allow = make("button", { type: "button", class: "yes", click: yes }, args ? "Allow with my changes" : "Allow once");
    const form = canChange ? changing(args ?? tool.args, change) : null;
    form?.addEventListener("toggle", () => {
      allow.disabled = last.hidden = form.open; // it would run what the fields no longer say
    });
    last.hidden = false;
    replace(
      root,
      why,
      args && !runsAsAsked(tool.args, args) ? null : place,
      problem,
      args ? make("p", { class: "cut" }, "Changed by you: this runs, not what the model wrote.") : null,
      args ? shown({ ...tool, args }, undefined, undefined) : shown(tool, request.preview, request.why?.span, saidOf(request)),
      args ? differences(tool.args, args) : null,
      make("div", { class: "answers" }, allow, deny, undo),
      args ? null : last,
      form,
      no,
    );
  };
  /** @param {Args} args */
  const change = (args) => {
    problem.hidden = true;
    draw(JSON.stringify(args) === JSON.stringify(tool.args) ? null : args);
    again?.();
  };
  draw(null);
  const refuse = (/** @type {string} */ told) => {
    problem.textContent = visible(`Not taken: ${told}`);
    problem.hidden = false;
  };
  return { root, refuse };
}

/**
 * The answers that last.
 * @param {ToolRequest} request
 * @param {string} name
 * @param {Answer} answer
 */
function remember(request, name, answer) {
  const group = `grant-${(made += 1)}`;
  const root = make("div", { class: "choices", role: "radiogroup", "aria-label": "What to allow" });
  /** @type {{radio: HTMLInputElement, scope: () => Scope}[]} */
  const choices = [];
  const chosen = () => choices.find((choice) => choice.radio.checked)?.scope() ?? "once";
  const kept = make("select", { id: `${group}-kept` });
  const offer = () => {
    const wanted = kept.selectedIndex;
    const can = keeps(chosen(), request.tool.category);
    replace(kept, ...can.map(([value, label]) => make("option", { value }, label)));
    kept.selectedIndex = Math.max(0, Math.min(wanted, can.length - 1)); // a list of KEPT from its beginning
  };
  root.addEventListener("change", offer);
  for (const scope of request.suggestions ?? []) {
    const radio = make("input", { type: "radio", name: group, id: `${group}-${choices.length}` });
    const label = described(scope);
    if (label !== null) {
      choices.push({ radio, scope: () => scope });
      put(root, make("div", { class: "choice" }, radio, make("label", { for: radio.id }, label)), note(scope));
      continue;
    }
    const found = editable(scope);
    if (found === null) {
      put(root, make("p", {}, "Another lasting yes is offered, of a form that this page cannot describe."));
      continue;
    }
    const choose = () => {
      radio.checked = true;
      offer();
    };
    const text = make("input", { type: "text", value: found.text, spellcheck: "false", autocomplete: "off", "aria-label": `${found.label}: exactly what is stored`, input: choose, focus: choose });
    choices.push({ radio, scope: () => found.with(text.value) });
    put(root, make("div", { class: "choice" }, radio, make("label", { for: radio.id }, found.label), text), note(scope));
  }
  const radio = make("input", { type: "radio", name: group, id: `${group}-tool` });
  choices.push({ radio, scope: () => "always" });
  put(root, make("div", { class: "choice" }, radio, make("label", { for: radio.id }, `Every call of ${name}, whatever its arguments`)));
  choices[0].radio.checked = true;
  offer();
  const allow = () => {
    const scope = chosen();
    answer({ type: "tool_approve", call_id: request.call_id, scope, persist: KEPT[kept.selectedIndex][0] });
  };
  return make(
    "details",
    { class: "more" },
    make("summary", {}, "Allow and remember…"),
    root,
    make("div", { class: "row" }, make("label", { for: kept.id }, "Keep it"), kept, make("button", { type: "button", class: "yes", click: allow }, "Allow and remember")),
  );
}

/** @param {import("./types.js").Scope} scope */
function note(scope) {
  const text = noteOf(scope);
  return text === "" ? null : make("p", { class: "why" }, text);
}

/**
 * The refusals that say more.
 * @param {ToolRequest} request
 * @param {Answer} answer
 */
function instead(request, answer) {
  const { call_id } = request;
  const words = make("textarea", { rows: "2", "aria-label": "What should it do instead?", placeholder: "What should it do instead?" });
  const told = () => (words.value.trim() ? { reason: words.value.trim() } : {});
  return make(
    "details",
    { class: "more" },
    make("summary", {}, "Deny and say why…"),
    words,
    make(
      "div",
      { class: "row" },
      make("button", { type: "button", class: "no", click: () => answer({ type: "tool_deny", call_id, ...told() }) }, "Deny with these words"),
      make("button", { type: "button", class: "no", click: () => answer({ type: "tool_deny", call_id, ...told(), stop: true }) }, "Deny and stop the turn"),
    ),
  );
}
