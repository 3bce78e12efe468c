// What a call will run in, in words: the sandbox and the hosts that it can reach, or no sandbox.
import { visibleLine } from "./visible.js";

/** @typedef {import("./types.js").ToolRequest} ToolRequest */
/** @typedef {import("./types.js").SandboxView} SandboxView */

const HOSTS_SHOWN = 8; // as many as a call can ask for
const HOST_CHARS_MAX = 260; // the longest name and a port: the end of a name says whose it is
const HELD = /** @type {{[view: string]: string}} */ ({ workspace: "In the sandbox", read_only: "In the sandbox, read only" });
const NONE = "none";
const OUTSIDE = "OUTSIDE of the sandbox: can do all that you can; a lasting yes covers calls outside too";

/** @param {SandboxView} view */
export function where({ view, hosts = [], proposed = [] }) {
  const known = hosts.filter((host) => !proposed.includes(host));
  const reached = known.length ? `, can reach ${listed(known)}` : "";
  const asked = proposed.length ? `; asks to reach ${listed(proposed)}` : "";
  if (Object.hasOwn(HELD, view)) return HELD[view] + (reached + asked || ": no network");
  return (view === NONE ? OUTSIDE : `In ${visibleLine(view, HOST_CHARS_MAX)}, which this page cannot describe`) + reached + asked;
}

/** Whether nobody has agreed before to what a call will run in. @param {SandboxView} view */
export function standsOut({ view, proposed = [] }) {
  return !Object.hasOwn(HELD, view) || proposed.length > 0;
}

/** What a lasting yes to a call in this view covers, beyond what is usual. @param {SandboxView} view */
export function beyond(view) {
  if (!Object.hasOwn(HELD, view.view)) return "outside of the sandbox";
  return standsOut(view) ? `reaching ${listed(view.proposed)}` : "";
}

/** The arguments that these words say whole. @param {ToolRequest} request @returns {string[]} */
export function saidOf({ sandbox, tool }) {
  if (!sandbox) return [];
  const said = { hosts: (sandbox.proposed ?? []).slice(0, HOSTS_SHOWN), outside_sandbox: sandbox.view === NONE };
  return Object.entries(said).flatMap(([name, value]) => (JSON.stringify(tool.args[name]) === JSON.stringify(value) ? [name] : []));
}

/** Whether a call asks for the same of its sandbox as before. @param {ToolRequest["tool"]["args"]} before @param {ToolRequest["tool"]["args"]} now */
export function runsAsAsked(before, now) {
  return ["hosts", "outside_sandbox"].every((name) => JSON.stringify(before[name]) === JSON.stringify(now[name]));
}

/** @param {readonly string[]} names */
function listed(names) {
  const rest = names.length - HOSTS_SHOWN;
  const shown = names.slice(0, HOSTS_SHOWN).map((name) => visibleLine(name, HOST_CHARS_MAX));
  return shown.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
