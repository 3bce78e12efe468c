// Colours for code, guessed: comments, strings, numbers and the usual words. Only ever colours.
import { make } from "./dom.js";
import { visible } from "./visible.js";

const WORDS =
  "abstract and as async await bool break case catch class const continue def default defer del do elif else enum " +
  "except export extends false finally fn for from func function go if impl implements import in instanceof int " +
  "interface is lambda let match mod mut namespace new nil None nonlocal not null or package pass private protected " +
  "pub public raise return self static str string struct super switch then this throw trait true True False try type " +
  "typeof undefined use using var void where while with yield";
const KEYWORDS = new Set(WORDS.split(" "));
const TOKEN =
  /(#[^\n]*|\/\/[^\n]*|--\s[^\n]*|\/\*.*?\*\/|<!--.*?-->)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(\b\d[\w.]*\b)|([A-Za-z_]\w*)/g;
const LINE_CHARS_MAX = 2_000; // a longer line is data, not code
const PLAIN = /\.(txt|md|rst|log|csv)$|^$/i; // prose has apostrophes, not strings

/**
 * One line of code as text and coloured spans.
 * @param {string} line
 * @param {string} path of the file, whose ending says what the line is
 * @returns {(Node | string)[]}
 */
export function coloured(line, path) {
  if (line.length > LINE_CHARS_MAX || PLAIN.test(path)) return [visible(line)];
  const hash = /\.(c|h|cc|cpp|hpp|java|js|mjs|ts|tsx|jsx|go|rs|css|cs|swift|kt)$/i.test(path);
  /** @type {(Node | string)[]} */
  const found = [];
  let at = 0;
  for (const match of line.matchAll(TOKEN)) {
    const kind = kindOf(match, hash);
    if (kind === "") continue;
    if (match.index > at) found.push(visible(line.slice(at, match.index)));
    found.push(make("span", { class: `t-${kind}` }, visible(match[0])));
    at = match.index + match[0].length;
  }
  if (at < line.length) found.push(visible(line.slice(at)));
  return found;
}

/**
 * @param {RegExpMatchArray} match
 * @param {boolean} hash whether `#` means something else than a comment
 */
function kindOf(match, hash) {
  if (match[1] !== undefined) return hash && match[1].startsWith("#") ? "" : "comment";
  if (match[2] !== undefined) return "string";
  if (match[3] !== undefined) return "number";
  return KEYWORDS.has(match[4]) ? "word" : "";
}
