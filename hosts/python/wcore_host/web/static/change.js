// The arguments of a waiting call as a person changes them: text that hides nothing, and back.
// Nothing is sent from here: the card is shown again with the changes, and asks.
import { make, put } from "./dom.js";
import { diff } from "./preview.js";
import { asText, escaped, visible, visibleLine } from "./visible.js";

/** @typedef {import("./types.js").ToolInfo["args"]} Args */
/** @typedef {{name: string, value: Args[string], json: boolean, text: string, field: HTMLTextAreaElement}} Draft */

const ROWS_MAX = 12; // of one field; a longer text scrolls in it
const CONTEXT_LINES = 3; // around a change, as diffs have it
let made = 0; // forms so far: each needs names of its own for its fields

/** Whether a page can send these arguments back unchanged: larger numbers it has rounded. @param {unknown} value @returns {boolean} */
export function isExact(value) {
  if (typeof value === "number") return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return typeof value !== "object" || value === null || Object.values(value).every(isExact);
}

/**
 * A field for each argument, and a button that hands on what they say now.
 * @param {Args} args
 * @param {(args: Args) => void} use
 * @returns {HTMLDetailsElement}
 */
export function changing(args, use) {
  const group = `change-${(made += 1)}`;
  const problem = make("p", { class: "problem", role: "alert" });
  const drafts = Object.entries(args).map(([name, value], at) => draft(`${group}-${at}`, name, value));
  const take = () => {
    problem.textContent = "";
    try {
      use(Object.fromEntries(drafts.map((each) => [each.name, read(each)])));
    } catch (error) {
      problem.textContent = visible(error instanceof Error ? error.message : String(error));
    }
  };
  const root = make("details", { class: "more change" }, make("summary", {}, "Change it first…"));
  for (const { name, json, field } of drafts) put(root, make("label", { for: field.id }, visibleLine(name, 60), json ? " (JSON)" : ""), field);
  const show = make("button", { type: "button", click: take }, "Show it with these changes");
  put(root, problem, make("div", { class: "row" }, show, make("span", { class: "about" }, "Nothing runs yet.")));
  return root;
}

/** @param {string} id @param {string} name @param {Args[string]} value @returns {Draft} */
function draft(id, name, value) {
  const json = typeof value !== "string" || visible(value) !== value;
  const text = json ? escaped(JSON.stringify(value, null, 1)) : value;
  const rows = Math.min(text.split("\n").length + 1, ROWS_MAX);
  const field = make("textarea", { id, rows, spellcheck: "false", autocomplete: "off" });
  field.value = text;
  return { name, value, json, text, field };
}

/** What a field says now; one that was not touched says exactly what it said. @param {Draft} each */
function read({ name, value, json, text, field }) {
  if (field.value === text) return value;
  if (!json) return field.value;
  try {
    const found = JSON.parse(field.value);
    if (isExact(found)) return found;
  } catch (error) {
    throw new Error(`${visibleLine(name, 60)}: ${error instanceof Error ? error.message : "no JSON"}`);
  }
  throw new Error(`${visibleLine(name, 60)}: a number is too large to be sent from here`);
}

/**
 * How the arguments differ, each as a diff.
 * @param {Args} before
 * @param {Args} now
 */
export function differences(before, now) {
  const path = typeof now.file_path === "string" ? now.file_path : "";
  const root = make("div", { class: "shown" });
  for (const name of Object.keys(now)) {
    const [old, wanted] = [asText(before[name]), asText(now[name])];
    if (old !== wanted) put(root, make("p", { class: "about" }, `Your changes of ${visibleLine(name, 60)}:`), diff(changedLines(old, wanted), path));
  }
  return root;
}

/** The lines from the first that differs to the last, with a little around them. @param {string} old @param {string} wanted */
function changedLines(old, wanted) {
  const [before, after] = [old.split("\n"), wanted.split("\n")];
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  let same = 0;
  while (same < before.length - from && same < after.length - from && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  if (before.length === 1 && after.length === 1) return `-${old}\n+${wanted}`;
  const start = Math.max(0, from - CONTEXT_LINES);
  const marked = (/** @type {string} */ sign, /** @type {string[]} */ lines) => lines.map((line) => sign + line);
  return [
    `@@ -${start + 1} +${start + 1} @@`,
    ...marked(" ", before.slice(start, from)),
    ...marked("-", before.slice(from, before.length - same)),
    ...marked("+", after.slice(from, after.length - same)),
    ...marked(" ", after.slice(after.length - same, after.length - same + CONTEXT_LINES)),
  ].join("\n");
}
