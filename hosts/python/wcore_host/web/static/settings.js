// What decides before a person is asked: the mode, the rules, lasting yeses, the tools of each agent.
import { make } from "./dom.js";
import { modelForm } from "./model.js";
import { isRaise, meaning, modeName, setMode } from "./modes.js";
import { tell, tellError } from "./notes.js";
import { beyond } from "./sandbox.js";
import { serverForm, serverTable } from "./servers.js";
import { section, table, when } from "./table.js";
import { toolTable } from "./tools.js";
import { trust } from "./trust.js";
import { visible, visibleLine } from "./visible.js";
import { ask, records } from "./wire.js";

/** @typedef {import("./types.js").HostState} HostState */
/** @typedef {{[name: string]: any}} Json */

const KEPT = /** @type {{[persist: string]: string}} */ ({ session: "this session", project: "this project", user: "everywhere" });
const AGENTS_MAX = 64; // offered by name; others can be typed
const KINDS = /** @type {{[kind: string]: string}} */ ({ name: "every call", prefix: "commands that begin with", path: "reading below", exact: "the exact command", host: "every command reaches" });

/** @param {Json} grant @returns {string} */
const covers = (grant) => grant.prefix ?? grant.root ?? grant.command ?? grant.host ?? "";

/** What the calls reach that it covers, where that is unusual. @param {Json} grant */
const reaches = (grant) => (grant.sandbox && grant.kind !== "host" ? beyond(grant.sandbox) : "");

export class SettingsView {
  /** @param {HTMLElement} root @param {() => HostState} host */
  constructor(root, host) {
    this._root = root;
    this._host = host;
    this._mode = section("Mode", "What runs without asking. Raising it takes a second yes.");
    this._grants = section("Lasting yeses", "What you allowed for more than one call. Taking one back counts at once, also while a turn runs.");
    this._tools = section("Tools", "What each tool of an agent may do. A user override stands above the setting.");
    this._agent = make("input", { type: "text", value: "main", list: "agents", spellcheck: "false", autocomplete: "off", change: () => this.toolsChanged() });
    this._agents = make("datalist", { id: "agents" }, make("option", { value: "main" }));
    this._tools.body.before(make("div", { class: "filters" }, make("label", {}, "Agent", this._agent), this._agents));
    this._rules = section("Policy rules", "Read from the policy files, in the order in which they are looked at. They are changed in the files.");
    this._model = section("Model", "Who answers. It counts from the next message on.");
    this._servers = section("MCP servers", "Tools of other programs. They can be added until the first message, and removed between turns.");
    this._servers.body.after(serverForm());
    this._trust = section("This folder", "Rules, agents and servers that came with it.");
    const all = [this._mode, this._grants, this._tools, this._model, this._servers, this._trust, this._rules];
    root.append(...all.map((each) => each.root));
  }

  get _shown() {
    return !this._root.hidden;
  }

  /** The view is looked at. */
  open() {
    this.modeChanged();
    this.grantsChanged();
    this.serversChanged();
    this.toolsChanged();
    void this._trust.fill(() => trust(() => this.open()));
    void this._rules.fill(rules);
  }

  toolsChanged() {
    const name = this._agent.value.trim() || "main";
    void this._tools.fill(() => toolTable(name, () => this.open()));
  }

  /** An agent has made a call: its tools can be chosen. @param {string} name */
  seen(name) {
    const known = [...this._agents.children].map((option) => option.getAttribute("value"));
    if (known.length < AGENTS_MAX && !known.includes(name)) this._agents.append(make("option", { value: name }));
  }

  serversChanged() {
    if (this._shown) void this._servers.fill(async () => serverTable(this._host().servers));
  }

  grantsChanged() {
    if (this._shown) void this._grants.fill(() => this._grantTable());
  }

  modeChanged() {
    const caps = this._host().capabilities;
    if (!this._shown || !caps) return;
    const now = caps.current_mode;
    const rows = caps.modes.map((mode) => {
      const current = mode === now;
      const button = make("button", { type: "button", "aria-pressed": String(current), click: () => void setMode(now, mode) }, modeName(mode));
      const raise = isRaise(now, mode) ? make("span", { class: "chip" }, "asks again") : null;
      return make("div", { class: "mode-row" }, button, make("span", {}, meaning(mode)), current ? make("span", { class: "chip ok" }, "now") : raise);
    });
    void this._mode.fill(async () => rows);
    void this._model.fill(async () => modelForm(caps));
  }

  /** @returns {Promise<Node[]>} */
  async _grantTable() {
    const { grants } = await ask({ type: "list_grants" });
    const rows = grants.map((/** @type {Json} */ grant) => [
      visibleLine(grant.tool, 60),
      make("span", {}, `${KINDS[grant.kind] ?? "of a form that this page cannot describe"} `, covers(grant) ? make("code", {}, visible(covers(grant))) : null, reaches(grant) && `, ${reaches(grant)}`),
      KEPT[grant.persist] ?? visibleLine(grant.persist, 20),
      grant.agent ? visibleLine(grant.agent, 60) : "main",
      visibleLine(grant.uses ?? 0, 20),
      when(grant.created_at),
      make("button", { type: "button", class: "no small", "aria-label": `Take back: ${visibleLine(grant.tool, 60)} ${visibleLine(covers(grant), 80)}`, click: () => void this._revoke(grant.grant_id) }, "Take back"),
    ]);
    return [table("Lasting yeses", ["Tool", "Covers", "Kept", "Agent", "Used", "Given", "Change"], rows, "There are none: every yes was for one call.")];
  }

  /** @param {string} id */
  async _revoke(id) {
    try {
      const { revoked } = await ask({ type: "revoke_grant", grant_id: id });
      tell(revoked ? "Taken back: the next such call asks again." : "It was gone already.");
    } catch (error) {
      tellError(error);
    }
    this.grantsChanged();
  }
}

/** @returns {Promise<Node[]>} */
async function rules() {
  const found = await records("policy");
  const head = make("p", {}, found.trusted ? "This folder is trusted: its own rules may loosen yours." : "This folder is not trusted: its own rules count only where they are stricter.");
  const rows = found.rules.map((/** @type {Json} */ rule) => [
    make("span", { class: `verdict ${visibleLine(rule.do, 10)}` }, visibleLine(rule.do, 10)),
    make("code", {}, visible(rule.match)),
    rule.agent ? visibleLine(rule.agent, 60) : "every",
    visibleLine(rule.level, 20),
    make("code", { class: "place" }, visible(rule.source)),
    rule.note ? visibleLine(rule.note, 200) : "",
  ]);
  const limits = Object.entries(found.limits ?? {}).map(([name, value]) => `${name.replaceAll("_", " ")}: ${visibleLine(value, 40)}`);
  return [
    head,
    table("Policy rules", ["Does", "Rule", "Agent", "Level", "Written in", "Remark"], rows, "There are no policy files: mode and your answers decide."),
    make("p", { class: "about" }, limits.length ? `Limits: ${limits.join(", ")}.` : ""),
  ];
}
