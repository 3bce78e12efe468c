import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CommandFailedError, TurnRefusedError } from "../dist/index.js";
import { all, call, fake, real } from "./talking.mjs";

const WRITE = call("Write", "w", { file_path: "new.txt", content: "one" });

test("an allowed call runs, a denied one does not, and the turn goes on", async () => {
  const other = call("Write", "w2", { file_path: "other.txt", content: "two" });
  const asked = [];
  const canUseTool = (toolName, input, { request }) => {
    asked.push([toolName, input.file_path, request.why.row]);
    if (input.file_path === "new.txt") return { behavior: "allow" };
    return { behavior: "deny", message: "not that one" };
  };
  const { engine, cwd } = await real([[WRITE, other], [{ text: "done" }]], { canUseTool });
  const events = await all(engine.turn("go"));
  await engine.close();
  assert.deepEqual(asked.sort(), [["Write", "new.txt", "default"], ["Write", "other.txt", "default"]]);
  assert.equal(readFileSync(join(cwd, "new.txt"), "utf8"), "one");
  assert.ok(!existsSync(join(cwd, "other.txt")));
  const ends = events.filter((e) => e.type === "tool_cancelled").map((e) => e.reason);
  assert.deepEqual(ends, ["not that one"]);
  assert.equal(events.at(-1).type, "stream_end");
});

test("updatedInput runs instead of what was asked, also when it was changed in place", async () => {
  const canUseTool = (_name, input) => {
    input.content = "changed";
    return { behavior: "allow", updatedInput: input };
  };
  const { engine, cwd } = await real([[WRITE]], { canUseTool });
  const events = await all(engine.turn("go"));
  await engine.close();
  assert.equal(readFileSync(join(cwd, "new.txt"), "utf8"), "changed");
  assert.equal(events.find((e) => e.type === "call_settled").args.content, "changed");
});

test("a scope covers later calls, and can be listed and revoked", async () => {
  let cards = 0;
  const canUseTool = () => {
    cards += 1;
    return { behavior: "allow", scope: "always" };
  };
  const again = call("Write", "w2", { file_path: "b.txt", content: "" });
  const { engine } = await real([[WRITE], [again]], { canUseTool });
  await all(engine.turn("go"));
  const [grant] = await engine.listGrants();
  assert.equal(cards, 1);
  assert.equal(grant.tool, "Write");
  assert.equal(await engine.revokeGrant(grant.grant_id), true);
  assert.deepEqual(await engine.listGrants(), []);
  const { messages, more } = await engine.getHistory();
  assert.deepEqual([messages[0].role, more], ["user", false]);
  await engine.close();
});

for (const [what, canUseTool] of [
  ["throws", () => { throw new RangeError("x"); }],
  ["rejects", async () => { throw null; }],
  ["returns nonsense", () => "yes"],
  ["returns nothing", () => undefined],
  ["denies without a message", () => ({ behavior: "deny" })],
  ["allows with an input that is no object", () => ({ behavior: "allow", updatedInput: [] })],
  ["allows with what JSON cannot say", () => ({ behavior: "allow", updatedInput: { n: 1n } })],
  ["does not exist", undefined],
]) {
  test(`a callback that ${what} denies`, async () => {
    const { engine, cwd } = await real([[WRITE]], { canUseTool });
    const events = await all(engine.turn("go"));
    await engine.close();
    assert.equal(events.filter((e) => e.type === "tool_cancelled").length, 1);
    assert.ok(!existsSync(join(cwd, "new.txt")));
  });
}

test("a question is answered", async () => {
  const ask = call("AskUserQuestion", "q", { question: "Where?", options: [{ label: "here" }] });
  const canUseTool = () => ({ behavior: "allow", answer: "here" });
  const { engine } = await real([[ask]], { canUseTool });
  const events = await all(engine.turn("go"));
  await engine.close();
  assert.equal(events.find((e) => e.type === "tool_result").output, "here");
});

test("permissionMode is in force from the first turn", async () => {
  const { engine, cwd } = await real([[WRITE]], { permissionMode: "auto_edit" });
  assert.equal(engine.capabilities.current_mode, "auto_edit");
  await all(engine.turn("go"));
  assert.ok(existsSync(join(cwd, "new.txt")));
  await engine.setPermissionMode("default");
  assert.equal(engine.capabilities.current_mode, "default");
  await engine.close();
});

test("a mode above the ceiling is refused", async () => {
  const { engine } = await real([], {}, ["--max-mode", "read_only"]);
  await assert.rejects(engine.setPermissionMode("force"), CommandFailedError);
  await engine.close();
});

test("an attended engine's calls are answered by hand, in any order", async () => {
  const calls = ["a", "b"].map((id) => call("Write", id, { file_path: id, content: "" }));
  const { engine, cwd } = await real([calls], { attended: true });
  const cards = [];
  for await (const event of engine.turn("go")) {
    if (event.type !== "tool_request") continue;
    cards.push(event);
    if (cards.length < 2) continue;
    assert.deepEqual((await engine.listPending()).map((card) => card.call_id), ["a", "b"]);
    await engine.answer(cards[1], { behavior: "allow" });
    await engine.answer(cards[0], { behavior: "deny", message: "no" });
  }
  await engine.close();
  assert.deepEqual([existsSync(join(cwd, "a")), existsSync(join(cwd, "b"))], [false, true]);
});

test("aborting a turn stops it, drops its card, and the next turn works", async () => {
  const signals = [];
  const canUseTool = (_name, _input, { signal }) => {
    signals.push(signal);
    controller.abort(new Error("enough"));
    return new Promise(() => undefined);
  };
  const controller = new AbortController();
  const { engine, cwd } = await real([[WRITE], [{ text: "again" }]], { canUseTool });
  const heard = [];
  await assert.rejects(async () => {
    for await (const event of engine.turn("go", { signal: controller.signal })) heard.push(event);
  }, /enough/);
  assert.equal(heard.at(-1).type, "stream_end");
  assert.ok(signals[0].aborted);
  const next = await all(engine.turn("go"));
  assert.ok(next.some((e) => e.type === "text_delta" && e.text === "again"));
  assert.ok(!existsSync(join(cwd, "new.txt")));
  await engine.close();
});

test("leaving the loop stops the turn", async () => {
  const bash = call("Bash", "b", { command: "sleep 600" });
  const canUseTool = () => ({ behavior: "allow" });
  const { engine } = await real([[{ text: "x" }, bash], [{ text: "again" }]], { canUseTool });
  for await (const event of engine.turn("go")) if (event.type === "tool_running") break;
  assert.ok((await all(engine.turn("go"))).some((e) => e.text === "again"));
  await engine.close();
});

test("a second turn is refused while one runs", async () => {
  const { engine } = await real([[WRITE]], { attended: true });
  const first = engine.turn("go");
  for (let event; (event = (await first.next()).value).type !== "tool_request"; );
  await assert.rejects(async () => all(engine.turn("again")), TurnRefusedError);
  await engine.close();
});

test("an aborted signal ends the engine", async () => {
  const controller = new AbortController();
  const { engine } = await real([[WRITE]], { signal: controller.signal, attended: true });
  const { pid } = engine;
  controller.abort();
  assert.deepEqual(await all(engine), []);
  await engine.close();
  assert.throws(() => process.kill(pid, 0));
});

test("20,000 deltas arrive whole and in order", async () => {
  const words = Array.from({ length: 20_000 }, (_, n) => `${n} `).join("");
  const { engine } = await real([Array.from(words.match(/\d+ /g), (text) => ({ text }))]);
  let text = "";
  for await (const event of engine.turn("go")) if (event.type === "text_delta") text += event.text;
  await engine.close();
  assert.equal(text, words);
});

test("keys reach the engine by a descriptor, and not by its environment", async () => {
  const key = "sk-live-0123456789abcdef";
  const command = "printf '%s%s\\n' sk-live- 0123456789abcdef; env | grep -c _API_KEY";
  const env = { ...process.env, HOME: mkdtempSync(join(tmpdir(), "wcore-host-")) };
  env.OPENAI_API_KEY = key;
  const replies = [[call("Bash", "b", { command })], [{ text: "done" }]];
  const { engine } = await real(replies, { env, permissionMode: "force" });
  const { output } = (await all(engine.turn("go"))).find((e) => e.type === "tool_result");
  let shown = "";
  try {
    shown = readFileSync(`/proc/${engine.pid}/environ`, "utf8");
  } catch {
    // only root is shown it
  }
  await engine.close();
  assert.ok(!output.includes(key), "the engine was given it, and strips it");
  assert.equal(output.split("\n")[1], "0");
  assert.ok(!shown.includes("OPENAI_API_KEY"));
});

test("what connects us is no pipe, which other programs could open through /proc", async () => {
  const engine = await fake(`
    const { fstatSync } = await import("node:fs");
    await ready({ current_model: [0, 1, 2].map((fd) => fstatSync(fd).isSocket()).join(" ") });
  `);
  const kinds = engine.capabilities.current_model;
  await engine.close();
  assert.equal(kinds, "true true true");
});
