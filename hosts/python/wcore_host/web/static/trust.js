// What the folder brings along (rules, agents, servers), and whether it may do more than forbid.
import { confirmed } from "./dialog.js";
import { make } from "./dom.js";
import { tell, tellError } from "./notes.js";
import { table } from "./table.js";
import { visible, visibleLine } from "./visible.js";
import { ask } from "./wire.js";

/** @typedef {{[name: string]: any}} Json */

/** @param {() => void} changed @returns {Promise<Node[]>} */
export async function trust(changed) {
  const found = await ask({ type: "trust_workspace", trusted: true }); // without a digest it only lists
  const rows = found.files.map((/** @type {Json} */ file) => [make("code", {}, visible(file.path)), make("code", { class: "place" }, visibleLine(file.digest, 30))]);
  const yes = make("button", { type: "button", class: "yes", click: () => void trusting(found, changed) }, "Trust these files");
  const no = make("button", { type: "button", class: "no", click: () => void set({ trusted: false }, changed) }, "Stop trusting them");
  return [
    make("p", {}, found.trusted ? "You trust these files as they are now; a change of any of them ends that." : rows.length ? "You do not trust these files: they can only forbid." : "It brings nothing along."),
    ...(rows.length ? [table("Files of the folder", ["File", "Digest"], rows, "")] : []),
    make("div", { class: "answers" }, ...(found.trusted ? [no] : rows.length ? [yes] : [])),
  ];
}

/** @param {Json} found @param {() => void} changed */
async function trusting(found, changed) {
  const text = "Its rules may then loosen yours, its agents may be started, and its MCP servers run programs. Read the files first.";
  if (await confirmed(`Trust ${found.files.length} files of this folder?`, text, "Yes, trust them")) await set({ trusted: true, digest: found.digest }, changed);
}

/** @param {{trusted: boolean, digest?: string}} wanted @param {() => void} changed */
async function set(wanted, changed) {
  try {
    const { trusted } = await ask({ type: "trust_workspace", ...wanted });
    tell(trusted ? "The files are trusted as they are now." : "The files are not trusted.");
  } catch (error) {
    tellError(error);
  }
  changed();
}
