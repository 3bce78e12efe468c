// Text that grows: whole blocks become elements once, only the open one is made anew.
import { make } from "./dom.js";
import { block } from "./markdown.js";
import { visible } from "./visible.js";

const OPEN_CHARS_MAX = 2_000; // made anew for every frame; a longer open block only grows
const BLOCK_CHARS_MAX = 8_000; // what is laid out again when a word is added

export class Flow {
  constructor() {
    this.root = make("div", { class: "flow" });
    this.text = "";
    this._rest = ""; // not yet shown
    this._tail = ""; // the open block
    /** @type {Node[]} */
    this._open = [];
    /** @type {Text | null} */
    this._plain = null; // where an open block that is too long to make anew grows
  }

  /** Take a piece; nothing is shown before `flush`. @param {string} piece */
  add(piece) {
    this._rest += piece;
    this.text += piece;
  }

  /** Show what has come. */
  flush() {
    if (this._rest === "") return;
    const piece = this._rest;
    this._rest = "";
    this._tail += piece;
    for (let end = finished(this._tail); end > 0; end = finished(this._tail)) {
      this._close(this._tail.slice(0, end));
      this._tail = this._tail.slice(end);
    }
    if (this._tail.length > BLOCK_CHARS_MAX) {
      this._close(this._tail);
      this._tail = "";
    }
    this._grow(piece);
  }

  /** The last block is whole. */
  end() {
    this.flush();
    if (this._tail.trim()) this._close(this._tail);
    this._tail = "";
  }

  /** @param {string} whole */
  _close(whole) {
    for (const node of this._open) node.parentNode?.removeChild(node);
    this._open = [];
    this._plain = null;
    if (whole.trim()) this.root.append(...block(whole.replace(/^\n+/, "")));
  }

  /** @param {string} piece */
  _grow(piece) {
    if (this._plain !== null && this._tail.endsWith(piece)) {
      this._plain.appendData(visible(piece));
      return;
    }
    for (const node of this._open) node.parentNode?.removeChild(node);
    if (this._tail.length > OPEN_CHARS_MAX) {
      this._plain = document.createTextNode(visible(this._tail));
      this._open = [make("p", {}, this._plain)];
    } else {
      this._open = this._tail.trim() ? block(this._tail.replace(/^\n+/, "")) : [];
    }
    this.root.append(...this._open);
  }
}

/**
 * How many characters of `text` are whole blocks; 0 if none is.
 * @param {string} text
 */
function finished(text) {
  const fence = /^\n* {0,3}(`{3,}|~{3,})[^\n]*\n/.exec(text);
  if (fence) {
    const close = new RegExp(`\\n {0,3}${fence[1][0]}{${fence[1].length},}[ \\t]*\\n`).exec(text.slice(fence[0].length - 1));
    return close ? fence[0].length - 1 + close.index + close[0].length : 0;
  }
  const begins = /^\n*/.exec(text)?.[0].length ?? 0;
  const blank = text.slice(begins).search(/\n[ \t]*\n/);
  const opens = text.slice(begins).search(/\n {0,3}(?:`{3,}|~{3,})/);
  if (opens >= 0 && (blank < 0 || opens < blank)) return begins + opens + 1;
  return blank < 0 ? 0 : begins + blank + 1;
}
