// A table with a caption, that scrolls by itself where the page is narrow.
import { make } from "./dom.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * @param {string} caption
 * @param {string[]} heads
 * @param {Child[][]} rows
 * @param {string} empty what to say when there are none
 * @returns {HTMLElement}
 */
export function table(caption, heads, rows, empty) {
  if (rows.length === 0) return make("p", { class: "empty" }, empty);
  return make(
    "div",
    { class: "wide", tabindex: "0", role: "group", "aria-label": caption },
    make(
      "table",
      {},
      make("caption", { class: "unseen" }, caption),
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))))),
    ),
  );
}

/** A stored time for people. @param {unknown} stamp */
export function when(stamp) {
  const date = new Date(String(stamp));
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/**
 * A section of a page that is filled when it is looked at; a failure is said in its place.
 * @param {string} title
 * @param {string} about
 * @returns {{root: HTMLElement, body: HTMLElement, fill: (make: () => Promise<Child[]>) => Promise<void>}}
 */
export function section(title, about) {
  const id = `section-${title.toLowerCase().replaceAll(" ", "-")}`;
  const body = make("div", { class: "body" });
  const root = make("section", { class: "panel", "aria-labelledby": id }, make("h2", { id }, title), make("p", { class: "about" }, about), body);
  let turn = 0;
  return {
    root,
    body,
    fill: async (produce) => {
      const mine = (turn += 1);
      if (!body.hasChildNodes()) body.append(make("p", { class: "empty" }, "Reading…"));
      /** @type {Child[]} */
      let content;
      try {
        content = await produce();
      } catch (error) {
        content = [make("p", { class: "problem" }, error instanceof Error ? error.message : String(error))];
      }
      if (mine === turn) body.replaceChildren(...content.filter((child) => child instanceof Node || typeof child === "string"));
    },
  };
}
