// Short messages at the edge of the page, and what screen readers are told at once.
import { byId, make } from "./dom.js";
import { visible } from "./visible.js";

const SHOWN_MS = 8_000;
const NOTES_MAX = 4;

/** Tell something that needs no answer. @param {string} text */
export function tell(text) {
  const root = byId("notes");
  const close = make("button", { type: "button", "aria-label": "Close this note", click: () => note.remove() }, "×");
  const note = make("div", { class: "toast" }, make("p", {}, visible(text)), close);
  root.append(note);
  while (root.children.length > NOTES_MAX) root.firstElementChild?.remove();
  setTimeout(() => note.remove(), SHOWN_MS);
}

/** Say something to who cannot see it. @param {string} text */
export function announce(text) {
  byId("alerts").textContent = visible(text);
}

/** Tell what went wrong. @param {unknown} error */
export function tellError(error) {
  tell(error instanceof Error ? error.message : String(error));
}
