// A question of the page itself, in a dialog that keeps the focus until it is answered.
import { make } from "./dom.js";

/**
 * Show a dialog; return which button was pressed, "" for none.
 * @param {string} title
 * @param {Node[]} content
 * @param {{value: string, label: string, class?: string}[]} buttons
 * @returns {Promise<string>}
 */
export function choose(title, content, buttons) {
  return new Promise((done) => {
    const heading = make("h2", { id: "dialog-title" }, title);
    const row = make("div", { class: "answers" }, ...buttons.map(({ value, label, class: kind }) => make("button", { type: "button", class: kind ?? "", click: () => dialog.close(value) }, label)));
    const dialog = make("dialog", { "aria-labelledby": "dialog-title" }, heading, ...content, row);
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(dialog.returnValue);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Ask for a second yes.
 * @param {string} title
 * @param {string} text
 * @param {string} yes what the button says
 */
export async function confirmed(title, text, yes) {
  const buttons = [
    { value: "", label: "Cancel" },
    { value: "yes", label: yes, class: "no" },
  ];
  return (await choose(title, [make("p", {}, text)], buttons)) === "yes";
}
