// What a person must be able to see: control, direction, zero-width and blank letters made visible.

const HIDDEN =
  /[\p{C}\p{Zl}\p{Zp}\u034f\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]|(?! )\p{Zs}/gu;

/** @param {string} char */
function marker(char) {
  const code = char.codePointAt(0) ?? 0;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/**
 * The text with everything invisible marked; lines, tabs and blanks are kept.
 * @param {unknown} text
 */
export function visible(text) {
  return String(text).replace(HIDDEN, (char) => (char === "\n" || char === "\t" ? char : marker(char)));
}

/**
 * JSON in which escapes stand for everything invisible: it means the same, and all of it is seen.
 * @param {string} json
 */
export function escaped(json) {
  const unit = (/** @type {number} */ code) => `\\u${code.toString(16).padStart(4, "0")}`;
  return json.replace(HIDDEN, (char) => (char === "\n" ? char : Array.from({ length: char.length }, (_, at) => unit(char.charCodeAt(at))).join("")));
}

/**
 * The text on one line, a cut marked by an ellipsis.
 * @param {unknown} text
 * @param {number} [charsMax]
 */
export function visibleLine(text, charsMax = 10_000) {
  const whole = String(text);
  const cut = whole.length > charsMax ? whole.slice(0, charsMax - 1) + "…" : whole;
  return visible(cut).replaceAll("\n", "⏎").replaceAll("\t", "⇥");
}

/**
 * A value of any kind as text for people.
 * @param {unknown} value
 */
export function asText(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");
}

/**
 * Seconds as people say them.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * Time left on a card, as a clock shows it.
 * @param {number} seconds
 */
export function clock(seconds) {
  const left = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}
