// What runs unasked. Lowering the mode takes one click, raising it a second yes.
import { choose, confirmed } from "./dialog.js";
import { make, put } from "./dom.js";
import { tellError } from "./notes.js";
import { visibleLine } from "./visible.js";
import { say } from "./wire.js";

const MODES = /** @type {const} */ ([
  ["plan", "Reading, and commands that cannot write, run unasked; all else is denied."],
  ["default", "Every call asks."],
  ["read_only", "Reading the folder runs unasked; everything else asks."],
  ["auto_edit", "Reading and editing in the folder run unasked; commands and deleting ask."],
  ["auto_run", "Reading and editing in the folder, and commands in the sandbox, run unasked; everything else asks."],
  ["force", "Everything runs unasked, commands included."],
]);
const ORDER = MODES.map(([mode]) => /** @type {string} */ (mode));
const AS_MUCH = /** @type {{[mode: string]: string}} */ ({ plan: "read_only" }); // as much runs unasked, and nothing can be changed

/** @param {string} mode */
export function meaning(mode) {
  return MODES.find(([name]) => name === mode)?.[1] ?? "A mode of this engine.";
}

/** A mode's name for people. @param {string} mode */
export function modeName(mode) {
  return visibleLine(mode, 30).replaceAll("_", " ");
}

/** Whether more would run unasked; a mode that is not known might do so. @param {string} now @param {string} wanted */
export function isRaise(now, wanted) {
  const [from, to] = [now, wanted].map((mode) => ORDER.indexOf(AS_MUCH[mode] ?? mode));
  return from >= 0 && to >= 0 ? to > from : now !== wanted;
}

/**
 * Let the person choose a mode.
 * @param {string} now
 * @param {readonly string[]} modes
 */
export async function chooseMode(now, modes) {
  const root = make("div", { class: "choices", role: "radiogroup", "aria-label": "Mode" });
  const boxes = modes.map((mode) => {
    const box = make("input", { type: "radio", name: "mode", id: `mode-${mode}`, value: mode, checked: mode === now });
    put(root, make("div", { class: "choice" }, box, make("label", { for: box.id }, make("strong", {}, modeName(mode)), make("span", { class: "about" }, meaning(mode)))));
    return box;
  });
  const buttons = [
    { value: "", label: "Cancel" },
    { value: "set", label: "Set the mode", class: "yes" },
  ];
  const pressed = await choose("What runs unasked?", [root], buttons);
  const wanted = modes[boxes.findIndex((box) => box.checked)];
  if (pressed === "set" && wanted !== undefined && wanted !== now) await setMode(now, wanted);
}

/** @param {string} now @param {string} wanted a name that the engine has announced */
export async function setMode(now, wanted) {
  const raise = isRaise(now, wanted);
  if (raise && !(await confirmed(`Raise the mode to ${modeName(wanted)}?`, meaning(wanted), `Yes, ${modeName(wanted)}`))) return;
  await say({ type: "set_mode", mode: /** @type {import("./types.js").Mode} */ (wanted) }).catch(tellError);
}
