// How long a yes lasts, as the wire spells it and as a person reads and edits it.

import { visibleLine } from "./visible.js";

/** @typedef {import("./types.js").Scope} Scope */

const KINDS = /** @type {{[kind: string]: {key: string, label: string}}} */ ({
  always_prefix: { key: "prefix", label: "Commands that begin with" },
  always_path: { key: "root", label: "Reading below the folder" },
});

/**
 * What a suggested scope that cannot be edited means; `null` if it is none of these.
 * @param {Scope} scope
 * @returns {string | null}
 */
export function described(scope) {
  if (typeof scope === "string" || Object.keys(scope).length !== 1) return null;
  const { always_exact: exact, always_prefixes: set, always_server: all, always_host: reach } = /** @type {{[name: string]: any}} */ (scope);
  if (typeof exact?.command === "string") return "This exact command";
  if (typeof all?.server === "string" && all.server !== "") return `Any tool of the MCP server “${visibleLine(all.server, 200)}”, as its tools are now`;
  if (typeof reach?.host === "string" && reach.host !== "") return `Let every command of this session reach “${visibleLine(reach.host, 4096)}”`;
  const prefixes = set?.prefixes;
  const named = Array.isArray(prefixes) && prefixes.length > 0 && prefixes.every((each) => typeof each === "string" && each !== "");
  return named ? `Commands that begin with ${prefixes.map((/** @type {string} */ each) => `“${visibleLine(each, 200)}”`).join(" or ")}` : null;
}

/**
 * What of a suggested scope can be shown and edited; `null` if it is none of these.
 * @param {Scope} scope
 * @returns {{label: string, text: string, with: (text: string) => Scope} | null}
 */
export function editable(scope) {
  if (typeof scope === "string") return null;
  const kind = Object.keys(scope)[0] ?? "";
  const known = KINDS[kind];
  const body = /** @type {{[name: string]: any}} */ (scope)[kind];
  if (known === undefined || typeof body?.[known.key] !== "string") return null;
  const text = body[known.key];
  return { label: known.label, text, with: (changed) => /** @type {Scope} */ ({ [kind]: { ...body, [known.key]: changed } }) };
}

/**
 * What the engine says of a suggested scope: what it runs, and what it leaves out.
 * @param {Scope} scope
 * @returns {string}
 */
export function noteOf(scope) {
  const body = typeof scope === "string" ? undefined : Object.values(/** @type {{[name: string]: any}} */ (scope))[0];
  return typeof body?.note === "string" ? visibleLine(body.note, 300) : "";
}

export const KEPT = /** @type {const} */ ([
  ["session", "for this session"],
  ["project", "in this project, always"],
  ["user", "for me, everywhere"],
]);

/**
 * How long the engine would keep a yes of that scope, the shortest first.
 * @param {Scope} scope
 * @param {string} category of the tool
 */
export function keeps(scope, category) {
  if (scope === "always" && category === "exec") return KEPT.slice(0, 1);
  if (typeof scope === "object" && "always_host" in scope) return KEPT.slice(0, 1);
  return typeof scope === "object" && "always_exact" in scope ? KEPT.slice(0, 2) : KEPT;
}
