// The three states of each tool of each agent, and the person's own standing yes above them.
import { confirmed } from "./dialog.js";
import { make } from "./dom.js";
import { tellError } from "./notes.js";
import { table } from "./table.js";
import { visibleLine } from "./visible.js";
import { ask } from "./wire.js";

/** @typedef {{[name: string]: any}} Json */

const STATES = /** @type {const} */ ([
  ["always_allow", "Always allow"],
  ["needs_approval", "Ask"],
  ["blocked", "Blocked"],
]);
const SOURCES = /** @type {{[source: string]: string}} */ ({ explicit: "chosen", default: "by default", none: "mode and rules decide" });
const NOW = /** @type {{[verdict: string]: string}} */ ({ allow: "runs unasked now", ask: "asks now", deny: "denied now" });
const CAREFUL = new Set(["exec", "mcp", "edit"]);

/**
 * @param {string} agent its name, `a/b` for an agent of an agent
 * @param {() => void} changed
 * @returns {Promise<Node[]>}
 */
export async function toolTable(agent, changed) {
  const { agents } = await ask({ type: "list_permissions", agent });
  return agents.flatMap((/** @type {Json} */ agent) => {
    const name = visibleLine(agent.agent, 80);
    const rows = agent.tools.map((/** @type {Json} */ tool) => row(agent, tool, changed));
    return [make("h3", {}, `Agent ${name}`), table(`Tools of ${name}`, ["Tool", "Kind", "May", "Because", "My override"], rows, "This agent has no tools.")];
  });
}

/** @param {Json} agent @param {Json} tool @param {() => void} changed */
function row(agent, tool, changed) {
  const name = visibleLine(tool.name, 80);
  const chosen = tool.status_source === "none" ? "" : tool.status;
  const select = make(
    "select",
    { "aria-label": `What ${name} may do`, change: () => void setStatus(agent, tool, select.value).finally(changed) },
    make("option", { value: "", selected: chosen === "" }, "Not set"),
    ...STATES.map(([value, label]) => make("option", { value, selected: value === chosen }, label)),
  );
  const box = make("input", { type: "checkbox", checked: tool.override, "aria-label": `Always allow ${name}, for me`, change: () => void setOverride(agent, tool, box.checked).finally(changed) });
  const source = SOURCES[tool.status_source] ?? visibleLine(tool.status_source, 30);
  const now = tool.status_source === "none" && NOW[tool.verdict] ? `${source}: ${NOW[tool.verdict]}` : source;
  return [name, visibleLine(tool.category, 20), select, now, box];
}

/** @param {Json} agent @param {Json} tool @param {string} status */
async function setStatus(agent, tool, status) {
  const name = visibleLine(tool.name, 80);
  if (agent.only && status === "") {
    const text = "This agent is offered only the tools listed here. Without a set of its own mode and rules decide about all tools again, and all are offered.";
    if (!(await confirmed(`Take back all states of ${visibleLine(agent.agent, 80)}?`, text, "Yes, take back"))) return;
    await ask({ type: "set_agent_tools", agent: agent.agent, tools: null }).catch(tellError);
    return;
  }
  if (status === "always_allow" && CAREFUL.has(tool.category)) {
    if (!(await confirmed(`Always allow ${name}?`, `Every call of ${name} by this agent then runs unasked, whatever its arguments.`, "Yes, always allow"))) return;
  }
  // Tools that nobody chose a state for keep to mode and rules.
  const others = agent.tools.filter((/** @type {Json} */ each) => each.name !== tool.name && each.status_source !== "none");
  const tools = others.map((/** @type {Json} */ each) => (each.status_source === "explicit" ? { name: each.name, status: each.status } : { name: each.name }));
  if (status !== "") tools.push({ name: tool.name, status });
  const none = tools.length === 0 && !agent.only;
  await ask({ type: "set_agent_tools", agent: agent.agent, tools: none ? null : tools, only: agent.only === true }).catch(tellError);
}

/** @param {Json} agent @param {Json} tool @param {boolean} approve */
async function setOverride(agent, tool, approve) {
  const name = visibleLine(tool.name, 80);
  if (approve && CAREFUL.has(tool.category)) {
    if (!(await confirmed(`Always allow ${name}, for you?`, `Every call of ${name} by this agent then runs unasked for you, whatever its arguments.`, "Yes, always allow"))) return;
  }
  await ask({ type: "set_tool_override", agent: agent.agent, tool: tool.name, approve_always: approve }).catch(tellError);
}
