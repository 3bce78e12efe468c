// MCP servers: which there are, how they stand; adding one starts a program, so it asks again.
import { choose } from "./dialog.js";
import { make } from "./dom.js";
import { tell, tellError } from "./notes.js";
import { table } from "./table.js";
import { visible, visibleLine } from "./visible.js";
import { ask, say } from "./wire.js";

/** @typedef {import("./types.js").HostState} HostState */
/** @typedef {import("./types.js").Command} Command */

/** @param {HostState["servers"]} servers @returns {Node[]} */
export function serverTable(servers = {}) {
  const rows = Object.entries(servers).map(([name, { tools, problem }]) => [
    make("code", {}, visibleLine(name, 60)),
    tools === null ? "not there" : `${tools} tools`,
    make("span", { class: problem ? "problem" : "" }, visible(problem)),
    tools === null ? "" : make("button", { type: "button", class: "no small", "aria-label": `Remove ${visibleLine(name, 60)}`, click: () => void remove(name) }, "Remove"),
  ]);
  return [table("MCP servers", ["Server", "State", "Told", "Change"], rows, "There are none.")];
}

/** @returns {Node} */
export function serverForm() {
  const text = (/** @type {string} */ placeholder) => make("input", { type: "text", spellcheck: "false", autocomplete: "off", placeholder });
  const [name, target] = [text("files"), text("npx")];
  const args = make("textarea", { rows: 2, spellcheck: "false", autocomplete: "off" });
  const add = async () => {
    const words = args.value.split("\n").filter((line) => line.trim());
    const wanted = command(name.value.trim(), target.value.trim(), words);
    if (wanted && (await sure(wanted))) await say(wanted).catch(tellError);
  };
  return make(
    "form",
    { class: "filters", "aria-label": "Add an MCP server", submit: (/** @type {Event} */ event) => (event.preventDefault(), void add()) },
    make("label", {}, "Name", name),
    make("label", {}, "Program, or address", target),
    make("label", {}, "Arguments, one a line", args),
    make("button", { type: "submit" }, "Add…"),
  );
}

/** @typedef {Extract<Command, {type: "add_mcp_server"}>} Add */

/** @param {string} name @param {string} target @param {string[]} args @returns {Add | null} */
function command(name, target, args) {
  if (!name || !target) return null;
  if (/^https?:\/\//.test(target)) return { type: "add_mcp_server", name, transport: "streamable-http", url: target };
  return { type: "add_mcp_server", name, transport: "stdio", command: target, args };
}

/** @param {Add} wanted */
async function sure(wanted) {
  const what = [wanted.command ?? wanted.url ?? "", ...(wanted.args ?? [])].map((word) => visible(word)).join("\n");
  const about = wanted.command === undefined ? "wcore connects to:" : "This program starts now, with your rights (one argument a line):";
  const content = [make("p", {}, about), make("pre", { class: "code", tabindex: "0", role: "group", "aria-label": "What starts" }, make("code", {}, what))];
  const buttons = [
    { value: "", label: "Cancel" },
    { value: "yes", label: "Yes, add it", class: "no" },
  ];
  return (await choose(`Add the MCP server ${visibleLine(wanted.name, 60)}?`, content, buttons)) === "yes";
}

/** @param {string} name */
async function remove(name) {
  await ask({ type: "remove_mcp_server", name }).then(() => tell(`${visibleLine(name, 60)} is removed.`), tellError);
}
