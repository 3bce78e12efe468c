// How the tests talk: to the real engine with a scripted model, or to a fake one that misbehaves.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../dist/index.js";

const ENGINE = JSON.parse(process.env.WCORE_COMMAND ?? '["wcore"]');

export function call(name, id, args) {
  return { call: { name, id, args } };
}

/** Start a real engine in an empty folder; each reply is a list of script items. */
export async function real(replies, options = {}, flags = []) {
  const home = mkdtempSync(join(tmpdir(), "wcore-host-"));
  const cwd = mkdtempSync(join(home, "workspace-"));
  const script = join(home, "script.jsonl");
  writeFileSync(script, replies.map((say) => `${JSON.stringify({ say })}\n`).join(""));
  const command = [...ENGINE, "--model", `script:${script}`, ...flags];
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, "state") };
  const engine = await connect({ command, cwd, env, ...options });
  return { engine, cwd };
}

/** Start `code` as if it were an engine; `say(object)` and `hear()` are there for it. */
export function fake(code, options = {}) {
  const body = `
    import { createInterface } from "node:readline";
    const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    const raw = (text) => new Promise((done) => process.stdout.write(text, done));
    const say = (event) => raw(JSON.stringify(event) + "\\n");
    const hear = async () => {
      const { value, done } = await lines.next();
      if (done) process.exit(0);
      return JSON.parse(value);
    };
    const message = async () => {
      for (;;) {
        const said = await hear();
        if (said.type === "ping") await say({ type: "pong" });
        if (said.type === "message") return said.msg_id;
      }
    };
    const ready = (more = {}) => say({ type: "ready", version: "0", session_id: "s", capabilities: {
      tool_approval: true, thinking: false, effort: false, effort_levels: [], mcp: false,
      modes: ["default", "read_only"], current_mode: "default", ...more } });
    ${code}
    while (true) await hear();
  `;
  return connect({
    command: [process.execPath, "--input-type=module", "-e", body],
    ...options,
  });
}

export async function all(events) {
  const heard = [];
  for await (const event of events) heard.push(event);
  return heard;
}
