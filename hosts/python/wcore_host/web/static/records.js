// What was decided, and what the sessions were like: searched, verified, drawn.
import { make } from "./dom.js";
import { stacked } from "./plots.js";
import { Sessions } from "./sessions.js";
import { section, table, when } from "./table.js";
import { visible, visibleLine } from "./visible.js";
import { records } from "./wire.js";

/** @typedef {{[name: string]: any}} Json */

const SINCE = /** @type {const} */ ([
  ["1d", "a day"],
  ["7d", "a week"],
  ["30d", "30 days"],
  ["90d", "90 days"],
  ["", "ever"],
]);
const DECISIONS = /** @type {const} */ ([
  ["", "all"],
  ["approved", "approved"],
  ["denied", "denied"],
  ["denied_with_reason", "denied with a reason"],
]);
const DAY_MS = 24 * 3600 * 1000;
const DAYS_MAX = 90;

export class RecordsView {
  /** @param {HTMLElement} root @param {(session: string | null) => void} resume */
  constructor(root, resume) {
    this._chain = section("Is the record whole?", "Every decision is a link in a chain of hashes. A changed, moved or missing one is found.");
    this._decisions = section("Decisions", "Who or what allowed or denied which call. The record holds no arguments.");
    this._pictures = section("Decisions by day", "");
    this._sessions = new Sessions(resume);
    this._words = make("input", { type: "search", autocomplete: "off", placeholder: "rule, source, reason, call" });
    this._tool = make("input", { type: "text", autocomplete: "off", placeholder: "Bash, mcp__*" });
    this._since = select(SINCE, "30d");
    this._decision = select(DECISIONS, "");
    const filters = make(
      "form",
      { class: "filters", role: "search", submit: (/** @type {Event} */ event) => (event.preventDefault(), this._search()) },
      make("label", {}, "Words", this._words),
      make("label", {}, "Tool", this._tool),
      make("label", {}, "Within", this._since),
      make("label", {}, "Decision", this._decision),
      make("button", { type: "submit", class: "yes" }, "Search"),
    );
    this._decisions.body.before(filters);
    root.append(this._decisions.root, this._pictures.root, this._chain.root, ...this._sessions.roots);
  }

  /** The view is looked at. */
  open() {
    this._search();
    void this._chain.fill(verified);
    this._sessions.open();
  }

  _search() {
    const asked = { words: this._words.value, tool: this._tool.value, since: this._since.value, decision: this._decision.value };
    const found = records("audit", asked);
    void this._decisions.fill(async () => decisions(await found));
    void this._pictures.fill(async () => pictures(await found));
  }
}

/** @param {readonly (readonly [string, string])[]} options @param {string} chosen */
function select(options, chosen) {
  return make("select", {}, ...options.map(([value, label]) => make("option", { value, selected: value === chosen }, label)));
}

/** @param {Json} found */
function decisions(found) {
  const rows = found.rows.map((/** @type {Json} */ row) => {
    const outcome = row.decision === "approved" ? "approved" : "denied";
    return [
      when(row.created_at),
      make("span", { class: `verdict ${outcome}` }, outcome),
      visibleLine(row.tool_name, 80),
      `${visibleLine(row.source, 20)}${row.with_override ? " (always)" : ""}`,
      make("code", { class: "place" }, visibleLine(row.rule_id ?? "", 200)),
      row.reason ? `“${visible(row.reason)}”` : "",
      make("code", { class: "place" }, visibleLine(row.tool_call_id, 60)),
    ];
  });
  const count = `${found.found.toLocaleString()} decisions${found.more ? " among those that could be read at once" : ""}${found.found > rows.length ? `; the newest ${rows.length} are shown` : ""}.`;
  return [make("p", { role: "status" }, count), table("Decisions", ["When", "Decision", "Tool", "By", "Rule", "Reason", "Call"], rows, "No decision fits.")];
}

/** @param {Json} found */
function pictures(found) {
  if (found.days.length === 0) return [make("p", { class: "empty" }, "Nothing to draw yet.")];
  const days = everyDay(found.days.map((/** @type {Json} */ each) => each.day));
  const bars = (/** @type {"outcome" | "source"} */ key, /** @type {string[]} */ names) =>
    days.map((day) => ({ label: day.slice(5), parts: names.map((name) => ({ name, count: sum(found.days, day, key, name) })).filter((part) => part.count > 0) }));
  const sources = /** @type {string[]} */ ([...new Set(found.days.map((/** @type {Json} */ each) => each.source))].sort());
  const outcomes = ["approved", "denied"];
  return [stacked("By outcome", bars("outcome", outcomes), outcomes), stacked("By who or what decided", bars("source", sources), sources)];
}

/** @param {Json[]} days @param {string} day @param {string} key @param {string} name */
function sum(days, day, key, name) {
  return days.filter((each) => each.day === day && each[key] === name).reduce((total, each) => total + each.count, 0);
}

/** All days from the first to the last, those without a decision too. @param {string[]} known */
function everyDay(known) {
  const days = [...new Set(known)].sort();
  const first = Date.parse(days[0]);
  const last = Date.parse(days[days.length - 1]);
  const count = Math.round((last - first) / DAY_MS) + 1;
  if (!(count >= 1 && count <= DAYS_MAX)) return days.slice(-DAYS_MAX);
  return Array.from({ length: count }, (_, at) => new Date(first + at * DAY_MS).toISOString().slice(0, 10));
}

async function verified() {
  const found = await records("verify");
  const problems = found.problems.map((/** @type {Json} */ problem) => make("li", { class: "problem" }, `${visibleLine(problem.kind, 20)}: ${visible(problem.detail)}`));
  return [
    make("p", {}, make("span", { class: `verdict ${found.intact ? "approved" : "denied"}` }, found.intact ? "Intact" : "Not intact"), ` · ${found.rows.toLocaleString()} decisions`),
    problems.length ? make("ul", {}, ...problems) : null,
    make("p", {}, "Head: ", make("code", {}, visible(found.head))),
    make("p", { class: "about" }, "A cut-off end shows only against a head that was kept elsewhere: wcore audit verify --head SEQ:HASH."),
  ];
}
