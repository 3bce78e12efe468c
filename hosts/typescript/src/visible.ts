// What a person must be able to see: control, direction, zero-width and blank letters marked.

const HIDDEN =
  /[\p{C}\p{Zl}\p{Zp}\u034f\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]|(?! )\p{Zs}/gu;

/**
 * Return `text` with everything invisible as `⟨U+202E⟩`; lines and tabs are kept.
 *
 * Names, arguments and output may be written by a hostile model or file: pass everything through
 * this before it reaches a terminal or a card.
 */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char) => {
    if (char === "\n" || char === "\t") return char;
    const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${code}⟩`;
  });
}
