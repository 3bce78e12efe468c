// Completion of `@` in the message field: files of the workspace, as the server finds them.
import { make } from "./dom.js";
import { visibleLine } from "./visible.js";
import { post } from "./wire.js";

const WAIT_MS = 80; // shorter than the gap between two keys of somebody typing fast
const SHOWN_MAX = 8;
const WANTED = /(?:^|\s)@(\S*)$/;

export class Completion {
  /** @param {HTMLTextAreaElement} field @param {HTMLElement} list a listbox */
  constructor(field, list) {
    this._field = field;
    this._list = list;
    /** @type {string[]} */
    this._found = [];
    this._picked = 0;
    this._asked = 0; // questions so far: an answer to an older one is dropped
    this._timer = 0;
    field.addEventListener("input", () => this._look());
    field.addEventListener("blur", () => this._show([]));
    list.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the field keeps the focus
      const at = event.target instanceof Element ? [...list.children].indexOf(/** @type {Element} */ (event.target.closest("li"))) : -1;
      if (at >= 0) this._take(at);
    });
  }

  /** Obey a key of the field; `true` if it was for the list. @param {KeyboardEvent} event */
  key(event) {
    const count = this._found.length;
    if (count === 0 || event.isComposing) return false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") this._pick((this._picked + (event.key === "ArrowDown" ? 1 : count - 1)) % count);
    else if (event.key === "Enter" || event.key === "Tab") this._take(this._picked);
    else if (event.key === "Escape") this._show([]);
    else return false;
    event.preventDefault();
    return true;
  }

  /** What is written between `@` and the cursor; `null` if nothing is wanted there. */
  _wanted() {
    const { value, selectionStart, selectionEnd } = this._field;
    if (selectionStart !== selectionEnd) return null;
    return WANTED.exec(value.slice(0, selectionStart))?.[1] ?? null;
  }

  _look() {
    clearTimeout(this._timer);
    const asked = (this._asked += 1);
    const wanted = this._wanted();
    if (wanted === null) this._show([]);
    else this._timer = setTimeout(() => void this._ask(wanted, asked), WAIT_MS);
  }

  /** @param {string} wanted @param {number} asked */
  async _ask(wanted, asked) {
    const { files } = await post("/api/files", { wanted }).catch(() => ({ files: [] }));
    if (asked === this._asked) this._show(files.filter((/** @type {string} */ name) => name !== wanted).slice(0, SHOWN_MAX));
  }

  /** @param {string[]} found */
  _show(found) {
    this._found = found;
    this._list.hidden = found.length === 0;
    this._list.replaceChildren(...found.map((name, at) => make("li", { role: "option", id: `file-${at}` }, visibleLine(name, 200))));
    this._pick(0);
  }

  /** @param {number} at */
  _pick(at) {
    this._picked = at;
    [...this._list.children].forEach((each, place) => each.setAttribute("aria-selected", String(place === at)));
    if (this._found.length) this._field.setAttribute("aria-activedescendant", `file-${at}`);
    else this._field.removeAttribute("aria-activedescendant");
  }

  /** @param {number} at */
  _take(at) {
    const wanted = this._wanted();
    const name = this._found[at];
    this._show([]);
    if (wanted === null || name === undefined) return;
    const end = this._field.selectionStart;
    this._field.setRangeText(name + (name.endsWith("/") ? "" : " "), end - wanted.length, end, "end");
    this._field.dispatchEvent(new Event("input")); // a folder is completed further
  }
}
