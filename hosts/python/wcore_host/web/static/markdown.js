// The little of Markdown that models write, as elements. Never markup: every word is a text node.
import { make, put } from "./dom.js";
import { visible, visibleLine } from "./visible.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ROW = /^\s*\|(.+)\|\s*$/;
const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>()"'`*]+)/g;
const DEPTH_MAX = 4; // of emphasis inside emphasis: deeper is shown as it is
const CHARS_MAX = 20_000; // of one block that is looked through for emphasis; longer stays plain

/**
 * One block of text as elements.
 * @param {string} text without blank lines, except inside a fence
 * @returns {Node[]}
 */
export function block(text) {
  const lines = text.replace(/\n+$/, "").split("\n");
  const fence = FENCE.exec(lines[0]);
  if (fence) return [fenced(lines, fence)];
  /** @type {Node[]} */
  const found = [];
  let at = 0;
  while (at < lines.length) {
    const [node, used] = next(lines, at);
    found.push(node);
    at += used;
  }
  return found;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @returns {[Node, number]} an element and how many lines it took
 */
function next(lines, at) {
  const heading = HEADING.exec(lines[at]);
  if (heading) return [spoken(`h${Math.min(6, heading[1].length + 2)}`, heading[2]), 1];
  if (RULE.test(lines[at])) return [make("hr"), 1];
  const kind = kindOf(lines[at]);
  let end = at + 1;
  while (end < lines.length && continues(kind, lines[end])) end += 1;
  const taken = lines.slice(at, end);
  if (kind === "list") return [list(taken), taken.length];
  if (kind === "quote") return [make("blockquote", {}, ...block(taken.map((line) => line.replace(/^ {0,3}> ?/, "")).join("\n"))), taken.length];
  if (kind === "table" && taken.length > 1) return [table(taken), taken.length];
  return [spoken("p", taken.join("\n")), taken.length];
}

/** @param {string} line */
function kindOf(line) {
  if (ITEM.test(line)) return "list";
  if (/^ {0,3}>/.test(line)) return "quote";
  return ROW.test(line) ? "table" : "text";
}

/** @param {string} kind @param {string} line */
function continues(kind, line) {
  if (HEADING.test(line) || RULE.test(line)) return false;
  if (kind === "list") return ITEM.test(line) || /^\s{2,}\S/.test(line);
  if (kind === "text") return kindOf(line) === "text";
  return kindOf(line) === kind;
}

/** @param {string[]} lines @param {RegExpExecArray} fence */
function fenced(lines, fence) {
  const closed = lines.length > 1 && lines[lines.length - 1].trim().startsWith(fence[1]);
  const code = lines.slice(1, closed ? -1 : undefined).join("\n");
  const language = visibleLine(fence[2], 30);
  return make("pre", { class: "code", tabindex: "0", "aria-label": language ? `Code, ${language}` : "Code" }, make("code", {}, visible(code)));
}

/** @param {string[]} lines */
function list(lines) {
  const first = ITEM.exec(lines[0]);
  const root = make(first?.[2] ? "ol" : "ul", first?.[2] && first[2] !== "1" ? { start: first[2] } : {});
  /** @type {HTMLElement} */
  let item = make("li");
  let deeper = "";
  const close = () => {
    if (deeper) put(item, list(deeper.replace(/\n$/, "").split("\n")));
    deeper = "";
  };
  const margin = first?.[1].length ?? 0;
  for (const line of lines) {
    const found = ITEM.exec(line);
    if (found && found[1].length < margin + 2) {
      close();
      item = spoken("li", found[3]);
      root.append(item);
    } else if (found) deeper += line + "\n";
    else put(item, " ", ...inline(line.trim(), 0));
  }
  close();
  return root;
}

/** @param {string[]} lines */
function table(lines) {
  const cells = (/** @type {string} */ line) => (ROW.exec(line)?.[1] ?? "").split("|").map((cell) => cell.trim());
  const ruled = /^[\s|:-]+$/.test(lines[1]);
  const head = ruled ? make("thead", {}, make("tr", {}, ...cells(lines[0]).map((cell) => spoken("th", cell)))) : null;
  const rows = lines.slice(ruled ? 2 : 0).map((line) => make("tr", {}, ...cells(line).map((cell) => spoken("td", cell))));
  return make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table" }, make("table", {}, head, make("tbody", {}, ...rows)));
}

/** @param {string} tag @param {string} text */
function spoken(tag, text) {
  const element = document.createElement(tag);
  put(element, ...inline(text, 0));
  return element;
}

/**
 * @param {string} text
 * @param {number} depth
 * @returns {(Node | string)[]}
 */
function inline(text, depth) {
  if (depth > DEPTH_MAX || text.length > CHARS_MAX) return [visible(text)];
  /** @type {(Node | string)[]} */
  const found = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) found.push(visible(text.slice(at, match.index)));
    at = match.index + match[0].length;
    const [whole, , code, bold, italic, label, target, bare] = match;
    if (code !== undefined) found.push(make("code", {}, visible(code)));
    else if (bold !== undefined) found.push(make("strong", {}, ...inline(bold, depth + 1)));
    else if (italic !== undefined) found.push(make("em", {}, ...inline(italic, depth + 1)));
    else if (bare !== undefined) found.push(link(bare, bare));
    else if (target !== undefined) found.push(link(target, label));
    else found.push(visible(whole));
  }
  if (at < text.length) found.push(visible(text.slice(at)));
  return found;
}

/**
 * A link says where it leads: its words are the model's, its target must not hide behind them.
 * @param {string} target
 * @param {string} label
 */
function link(target, label) {
  const shown = label === target ? visibleLine(target) : `${visibleLine(label)} (${visibleLine(target)})`;
  return make("a", { href: target, target: "_blank", rel: "noopener noreferrer" }, shown);
}
