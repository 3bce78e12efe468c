// Which model answers, and how hard it thinks.
import { make, put } from "./dom.js";
import { tellError } from "./notes.js";
import { visibleLine } from "./visible.js";
import { say } from "./wire.js";

const THINKING = /** @type {const} */ ([
  ["", "as it is"],
  ["enabled", "yes"],
  ["disabled", "no"],
]);

/**
 * A form with what can be changed about the model.
 * @param {import("./types.js").Capabilities} caps
 * @returns {Node[]}
 */
export function modelForm(caps) {
  const now = caps.current_model ?? "";
  const name = make("input", { type: "text", value: now, spellcheck: "false", autocomplete: "off" });
  const effort = make("select", {}, make("option", { value: "" }, "as it is"), ...(caps.effort_levels ?? []).map((level) => make("option", { value: level }, visibleLine(level, 30))));
  const thinking = make("select", {}, ...THINKING.map(([value, label]) => make("option", { value }, label)));
  const send = () => {
    /** @type {Extract<import("./types.js").Command, {type: "set_config"}>} */
    const wanted = { type: "set_config" };
    if (name.value.trim() && name.value.trim() !== now) wanted.model = name.value.trim();
    if (effort.value) wanted.effort = effort.value;
    const thinks = THINKING[thinking.selectedIndex][0];
    if (thinks) wanted.thinking = thinks;
    void say(wanted).catch(tellError);
  };
  const form = make("form", { class: "filters", submit: (/** @type {Event} */ event) => (event.preventDefault(), send()) }, make("label", {}, "Model", name));
  put(form, caps.effort ? make("label", {}, "Effort", effort) : null, caps.thinking ? make("label", {}, "Thinks first", thinking) : null, make("button", { type: "submit" }, "Use it"));
  return [form];
}
