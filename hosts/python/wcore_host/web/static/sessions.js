// Stored conversations: which there are, and what one was like: its waits, its questions, its time.
import { make } from "./dom.js";
import { stacked, timeline } from "./plots.js";
import { section, table, when } from "./table.js";
import { duration, visible, visibleLine } from "./visible.js";
import { records } from "./wire.js";

/** @typedef {{[name: string]: any}} Json */

const STRETCHES_MAX = 60; // drawn below each other; the longest waits are what one looks for

export class Sessions {
  /** @param {(session: string | null) => void} resume */
  constructor(resume) {
    this._resume = resume;
    this._list = section("Sessions", "Stored conversations of this user, the one used last first.");
    this._one = section("One session", "Choose a session above to see its waits and its questions.");
    this.roots = [this._list.root, this._one.root];
  }

  open() {
    void this._list.fill(async () => {
      const { sessions } = await records("sessions");
      const rows = sessions.map((/** @type {Json} */ session) => this._row(session));
      const fresh = make("button", { type: "button", click: () => this._resume(null) }, "Start a new session");
      return [make("p", {}, fresh), table("Sessions", ["Begins with", "Used", "Folder", "Session", "Records", "State", "Look", "Continue"], rows, "No session is stored.")];
    });
  }

  /** @param {Json} session */
  _row(session) {
    const id = visibleLine(session.session_id, 60);
    const title = visibleLine(session.title ?? "", 80);
    const name = title || id;
    const state = session.holder ? "in use" : session.state === "idle" ? "idle" : "interrupted";
    const look = make("button", { type: "button", class: "small", "aria-label": `Look at session ${name}`, click: () => this._look(session.session_id) }, "Look");
    const resume = make("button", { type: "button", class: "small", "aria-label": `Continue session ${name}`, disabled: Boolean(session.holder), click: () => this._resume(session.session_id) }, "Continue");
    return [title || "(without words)", when(session.last_at), make("code", { class: "place" }, visible(session.workspace)), make("code", {}, id), String(session.records), state, look, resume];
  }

  /** @param {string} id */
  _look(id) {
    void this._one.fill(async () => drawn(await records("session", { session_id: id })));
    this._one.root.scrollIntoView({ block: "start" });
  }
}

/** @param {Json} found */
function drawn(found) {
  const longest = [...found.stretches].sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, STRETCHES_MAX);
  const kept = found.stretches.filter((/** @type {Json} */ each) => longest.includes(each));
  const asked = found.asked.map((/** @type {Json} */ each) => [
    make("code", {}, visible(each.what)),
    visibleLine(each.tool, 40),
    String(each.count),
    each.grant ? make("code", {}, visible(each.grant)) : "none is offered",
  ]);
  const answers = found.answers.filter((/** @type {Json} */ each) => each.count > 0);
  const total = answers.reduce((/** @type {number} */ sum, /** @type {Json} */ each) => sum + each.count, 0);
  return [
    make("p", {}, make("code", {}, visibleLine(found.session_id, 128)), ` · ${total} answers of a person, the middle one after ${duration(found.median_s ?? 0)}`, found.more ? " · this is its beginning" : ""),
    kept.length ? timeline("The session in time", kept) : make("p", { class: "empty" }, "Nothing was decided in it."),
    total ? stacked("Time until an answer", found.answers.map((/** @type {Json} */ each) => ({ label: each.label, parts: each.count ? [{ name: "answers", count: each.count }] : [] })), ["answers"]) : null,
    asked.length ? make("h3", {}, "Asked most often") : null,
    asked.length ? table("Asked most often", ["Question", "Tool", "Times", "A yes that would have answered it"], asked, "") : null,
  ];
}
