// What will happen, as a card shows it: a diff, a command with the part that asks marked, a text.
import { make, put } from "./dom.js";
import { coloured } from "./syntax.js";
import { asText, visible, visibleLine } from "./visible.js";

/** @typedef {import("./types.js").ToolRequest} ToolRequest */
/** @typedef {import("./types.js").ToolInfo} ToolInfo */
/** @typedef {import("./types.js").Preview} Preview */

const SHOWN_BY_DIFF = new Set(["content", "old_string", "new_string", "edits"]);
const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/**
 * Everything there is to see before an answer.
 * @param {ToolInfo} tool
 * @param {Preview | undefined} preview
 * @param {readonly number[] | undefined} span bytes of the command that caused the question
 * @param {readonly string[]} said arguments that stand on the card already
 * @returns {HTMLElement}
 */
export function shown(tool, preview, span, said = []) {
  const root = make("div", { class: "shown" });
  const command = typeof tool.args.command === "string" ? tool.args.command : null;
  const whole = command !== null && (preview === undefined || isOf(preview, command));
  const known = new Set([...said, ...(preview?.kind === "diff" && !preview.truncated ? SHOWN_BY_DIFF : [])]);
  if (whole) {
    put(root, marked(command, span));
    known.add("command");
  } else if (preview?.kind === "diff") put(root, diff(preview.text, String(tool.args.file_path ?? "")));
  else if (preview !== undefined) put(root, framed("Preview", visible(preview.text)));
  if (preview?.truncated && !whole) put(root, make("p", { class: "cut" }, "This is not all of it: the engine cut the preview here. The arguments below are whole."));
  put(root, args(tool.args, known));
  return root;
}

/** Whether the preview is of the very command in the arguments. @param {Preview} preview @param {string} command */
function isOf(preview, command) {
  return preview.kind === "command" && (preview.truncated === true || preview.text === visible(command));
}

/**
 * A command in full; the bytes of `span` are marked.
 * @param {string} command
 * @param {readonly number[] | undefined} span
 */
function marked(command, span) {
  const [before, middle, after] = parts(command, span);
  const mark = middle ? make("mark", { title: "This part is why it asks" }, visible(middle)) : null;
  return framed("Command", visible(before), mark, visible(after));
}

/**
 * Cut a text at two places that are counted in bytes of UTF-8.
 * @param {string} text
 * @param {readonly number[] | undefined} span
 * @returns {[string, string, string]}
 */
export function parts(text, span) {
  if (span === undefined || span.length !== 2) return [text, "", ""];
  const bytes = new TextEncoder().encode(text);
  const decode = (/** @type {number} */ from, /** @type {number} */ to) => new TextDecoder().decode(bytes.subarray(from, to));
  const [start, end] = span;
  if (!(start >= 0 && start < end && end <= bytes.length)) return [text, "", ""];
  return [decode(0, start), decode(start, end), decode(end, bytes.length)];
}

/** @param {string} label @param {...(Node | string | null)} content */
function framed(label, ...content) {
  return make("pre", { class: "code", tabindex: "0", role: "group", "aria-label": label }, make("code", {}, ...content));
}

/**
 * A unified diff, line by line, with numbers and colours.
 * @param {string} text
 * @param {string} path
 */
export function diff(text, path) {
  const body = make("tbody");
  let [before, after] = [0, 0];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      put(body, row("hunk", "", "", "", [visible(line)]));
    } else if (/^(---|\+\+\+) /.test(line) && before === 0) put(body, row("name", "", "", "", [visible(line)]));
    else if (line.startsWith("+")) put(body, row("more", "", after++, "+", coloured(line.slice(1), path)));
    else if (line.startsWith("-")) put(body, row("less", before++, "", "−", coloured(line.slice(1), path)));
    else if (line.startsWith(" ")) put(body, row("same", before++, after++, "", coloured(line.slice(1), path)));
    else put(body, row("note", "", "", "", [visible(line)]));
  }
  return make("div", { class: "diff", tabindex: "0", role: "group", "aria-label": "Changes" }, make("table", {}, body));
}

const SAID = /** @type {{[kind: string]: string}} */ ({ more: "added: ", less: "removed: " });

/**
 * @param {string} kind
 * @param {number | string} before
 * @param {number | string} after
 * @param {string} sign
 * @param {(Node | string)[]} content
 */
function row(kind, before, after, sign, content) {
  const said = SAID[kind] ? make("span", { class: "unseen" }, SAID[kind]) : null;
  return make(
    "tr",
    { class: kind },
    make("td", { class: "number", "aria-hidden": "true" }, String(before)),
    make("td", { class: "number", "aria-hidden": "true" }, String(after)),
    make("td", { class: "sign", "aria-hidden": "true" }, sign),
    make("td", {}, said, make("code", {}, ...content)),
  );
}

/**
 * The arguments that are not shown yet, in full.
 * @param {{[name: string]: unknown}} values
 * @param {Set<string>} known
 */
function args(values, known) {
  const left = Object.entries(values).filter(([name]) => !known.has(name));
  if (left.length === 0) return null;
  const pairs = left.flatMap(([name, value]) => [make("dt", {}, visibleLine(name, 60)), make("dd", {}, make("code", {}, visible(asText(value))))]);
  return make("dl", { class: "args" }, ...pairs);
}
