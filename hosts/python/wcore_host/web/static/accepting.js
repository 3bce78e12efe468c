// What others have loosened since the session began: it counts when the person says so.
import { confirmed } from "./dialog.js";
import { make } from "./dom.js";
import { tell, tellError } from "./notes.js";
import { ask } from "./wire.js";

/** @param {string} message @param {string} digest @returns {Node} */
export function acceptance(message, digest) {
  const button = make("button", { type: "button", class: "yes", click: () => void accept() }, "Let it count now");
  return make("p", { class: "answers" }, button);

  async function accept() {
    if (!(await confirmed("Let these changes count in this session?", message, "Yes, let them count"))) return;
    try {
      await ask({ type: "accept_changes", digest });
      tell("They count from now on.");
      button.remove();
    } catch (error) {
      tellError(error);
    }
  }
}
