// The card of a question to the person: the answer is what the tool gives back.
import { make, put } from "./dom.js";
import { visible, visibleLine } from "./visible.js";

/** @typedef {import("./types.js").ToolRequest} ToolRequest */

export const QUESTION_TOOL = "AskUserQuestion";
let made = 0;

/**
 * @param {ToolRequest} request
 * @param {(command: import("./types.js").Command) => void} answer
 * @returns {HTMLElement}
 */
export function question(request, answer) {
  const { call_id, tool } = request;
  const several = tool.args.multiSelect === true;
  const options = labels(tool.args.options);
  const group = `question-${(made += 1)}`;
  const boxes = options.map(([label, about], at) => {
    const box = make("input", { type: several ? "checkbox" : "radio", name: group, id: `${group}-${at}`, change: () => (own.value = "") });
    const text = make("label", { for: box.id }, visibleLine(label, 300), about ? make("span", { class: "about" }, visible(about)) : null);
    return { box, label, root: make("div", { class: "choice" }, box, text) };
  });
  const own = make("input", { type: "text", "aria-label": options.length ? "Another answer" : "Your answer", placeholder: options.length ? "Another answer" : "Your answer", input: () => untick() });
  const untick = () => {
    if (!several) for (const { box } of boxes) box.checked = false;
  };
  const send = () => {
    const chosen = boxes.filter(({ box }) => box.checked).map(({ label }) => label);
    if (own.value.trim()) chosen.push(own.value.trim());
    if (chosen.length === 0) own.focus();
    else answer({ type: "tool_approve", call_id, answer: several ? JSON.stringify(chosen) : chosen[0] });
  };
  const root = make("form", { class: "asks question", submit: (/** @type {Event} */ event) => (event.preventDefault(), send()) });
  put(
    root,
    make("p", { class: "asked" }, visible(tool.args.question ?? "")),
    make("div", { class: "choices", role: several ? "group" : "radiogroup", "aria-label": visibleLine(tool.args.question ?? "", 200) }, ...boxes.map((each) => each.root)),
    own,
    make("div", { class: "answers" }, make("button", { type: "submit", class: "yes" }, "Send the answer"), make("button", { type: "button", class: "no", click: () => answer({ type: "tool_deny", call_id }) }, "Do not answer")),
  );
  return root;
}

/**
 * Label and description of each option.
 * @param {unknown} options
 * @returns {[string, string][]}
 */
function labels(options) {
  if (!Array.isArray(options)) return [];
  return options.map((option) => {
    if (typeof option === "string") return [option, ""];
    return [String(option?.label ?? ""), typeof option?.description === "string" ? option.description : ""];
  });
}
