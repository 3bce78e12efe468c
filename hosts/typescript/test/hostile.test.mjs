// Engines that do what a real one must never do. None of it may end the host.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CommandTooLongError,
  EngineExitedError,
  EngineStartError,
  TurnRefusedError,
  connect,
  visible,
} from "../dist/index.js";
import { all, fake } from "./talking.mjs";

test("lines that are no events are reported and survived", async () => {
  const engine = await fake(`
    await ready();
    await raw('not json\\n[1]\\n{"type":7}\\n{"type":"text_delta"}\\n \\n');
    await raw('{"type":"tool_request","msg_id":"m","call_id":"c","tool":{"name":7}}\\n');
    await raw('{"type":"error","error":{}}\\n{"type":"error","error":null}\\n');
    await raw("[".repeat(1e6) + "\\n" + '{"a":'.repeat(1e5) + "\\n");
    await say({ type: "invented_tomorrow" });
    await say({ type: "toString" });
    const msg_id = await message();
    await say({ type: "stream_start", msg_id });
    await say({ type: "stream_end", msg_id });
  `);
  const kinds = (await all(engine.turn("go"))).map((e) => e.type);
  await engine.close();
  assert.deepEqual(
    kinds,
    [...Array(10).fill("host_garbled"), "host_unknown", "host_unknown", "stream_start", "stream_end"]
      .filter((_, n) => n > 0),
  );
});

test("keys like __proto__ reach nothing but their own object", async () => {
  const canUseTool = (_name, input) => ({ behavior: "allow", updatedInput: { ...input } });
  const engine = await fake(
    `
    await ready();
    const msg_id = await message();
    await raw('{"type":"stream_start","msg_id":"' + msg_id + '","__proto__":{"polluted":1}}\\n');
    await raw('{"type":"tool_request","msg_id":"' + msg_id + '","call_id":"__proto__",' +
      '"digest":"d","expires_in_s":9,"why":{"row":"mode","detail":""},"tool":{"name":"constructor",' +
      '"category":"exec","args":{"__proto__":{"polluted":2},"constructor":{"prototype":{"polluted":3}}}}}\\n');
    const answer = await hear();
    await say({ type: "info", msg_id: "", message: JSON.stringify(answer) });
    await say({ type: "stream_end", msg_id });
  `,
    { canUseTool },
  );
  const events = await all(engine.turn("go"));
  await engine.close();
  assert.equal({}.polluted, undefined);
  assert.equal(Object.prototype.polluted, undefined);
  const sent = events.find((e) => e.type === "info").message;
  assert.match(sent, /"call_id":"__proto__"/);
});

for (const [number, changed, sent] of [
  ["9007199254740993", "x", "tool_deny"],
  ["[{\"deep\":-123456789012345678}]", "x", "tool_deny"],
  ["9007199254740993", undefined, "tool_approve"],
  ["9007199254740991", "x", "tool_approve"],
  ["0.5", "x", "tool_approve"],
]) {
  test(`a change of arguments with ${number} ${changed ? "" : "to nothing "}sends ${sent}`, async () => {
    const canUseTool = (_name, input) => ({
      behavior: "allow",
      updatedInput: changed === undefined ? input : { ...input, note: changed },
    });
    const engine = await fake(
      `
      await ready();
      const msg_id = await message();
      await say({ type: "stream_start", msg_id });
      await raw('{"type":"tool_request","msg_id":"' + msg_id + '","call_id":"c","digest":"d","expires_in_s":9,' +
        '"why":{"row":"mode","detail":""},"tool":{"name":"mcp__s__t","category":"mcp","args":{"n":${number}}}}\\n');
      await say({ type: "info", msg_id: "", message: JSON.stringify(await hear()) });
      await say({ type: "stream_end", msg_id });
    `,
      { canUseTool },
    );
    const events = await all(engine.turn("go"));
    await engine.close();
    const answer = JSON.parse(events.find((e) => e.type === "info").message);
    assert.equal(answer.type, sent);
    assert.equal(answer.args === undefined, sent === "tool_deny" || changed === undefined);
  });
}

test("a line over 8 MiB is reported once, and the next one is read", async () => {
  const engine = await fake(`
    await ready();
    await raw("x".repeat(20 * 1024 * 1024) + "\\n");
    const text = "y".repeat(8 * 1024 * 1024 - 100);
    await say({ type: "info", msg_id: "", message: text });
    process.exit(0);
  `);
  engine.closeInput();
  const events = await all(engine);
  assert.deepEqual(events.map((e) => e.type), ["host_garbled", "info"]);
  assert.ok(events[0].line.length <= 120);
});

test("an error about a server refuses no turn; one about none does while another server starts", async () => {
  const engine = await fake(`
    await ready({ mcp: true });
    const names = [];
    let said;
    while ((said = await hear()).type !== "message") names.push(said.name);
    for (const name of names.filter((each) => each !== "slow")) {
      await say({ type: "error", error: { code: "config_error", message: name, mcp_server: name } });
      await say({ type: "mcp_failed", name, reason: "no" });
    }
    await say({ type: "stream_start", msg_id: said.msg_id });
    await say({ type: "stream_end", msg_id: said.msg_id });
    await message();
    await say({ type: "error", error: { code: "config_error", message: "not again" } });
  `);
  for (const name of ["one", "two", "slow", "one"]) {
    await engine.send({ type: "add_mcp_server", name, transport: "stdio" });
  }
  assert.equal((await all(engine.turn("go"))).at(-1).type, "stream_end");
  await assert.rejects(all(engine.turn("go")), TurnRefusedError);
  await engine.close();
});

test("an engine that dies in a turn says how, and what it last logged", async () => {
  const engine = await fake(`
    await ready();
    const msg_id = await message();
    await say({ type: "stream_start", msg_id });
    console.error("first\\nTraceback: the reason");
    process.exit(7);
  `);
  const pong = assert.rejects(engine.ping(), EngineExitedError).catch(() => undefined);
  await assert.rejects(all(engine.turn("go")), (error) => {
    assert.ok(error instanceof EngineExitedError);
    assert.equal(error.exitCode, 7);
    assert.match(error.message, /the reason/);
    return true;
  });
  await pong;
  await assert.rejects(engine.stop(), EngineExitedError);
  await engine.close();
});

test("an engine that is killed says by what", async () => {
  const engine = await fake(`await ready(); await message(); process.kill(process.pid, "SIGKILL");`);
  await assert.rejects(all(engine.turn("go")), /SIGKILL/);
});

for (const [what, code, message] of [
  ["refuses to start", 'await say({ type: "error", error: { code: "init_failed", message: "no", retryable: false } }); process.exit(1);', /^no$/],
  ["dies at once", 'console.error("oops"); process.exit(3);', /code 3[^]*oops/],
  ["says other things first", 'await raw("Welcome!\\n"); process.exit(0);', /Welcome!/],
  ["asks before it is ready", 'await say({ type: "tool_request", msg_id: "m", call_id: "c", tool: { name: "Bash", category: "exec", args: {} } }); process.exit(0);', /first words/],
  ["never gets ready", "", /no ready within 300 ms/],
]) {
  test(`an engine that ${what} is an EngineStartError`, async () => {
    await assert.rejects(fake(code, { readyTimeoutMs: what.startsWith("never") ? 300 : 30_000 }), (error) => {
      assert.ok(error instanceof EngineStartError, String(error));
      assert.match(error.message, message);
      return true;
    });
  });
}

for (const [what, options, message] of [
  ["program", { command: ["/nowhere/wcore"] }, /^program not found: \/nowhere\/wcore$/],
  ["engine", { env: { PATH: "/nowhere" } }, /program not found: wcore: install the engine with `pip install/],
  ["folder", { command: [process.execPath], cwd: "/nowhere" }, /^there is no folder \/nowhere$/],
]) {
  test(`a ${what} that is not there is said plainly`, async () => {
    await assert.rejects(connect(options), (error) => {
      assert.ok(error instanceof EngineStartError, String(error));
      assert.match(error.message, message);
      return true;
    });
  });
}

test("a host that does not read makes the engine wait, and loses nothing", async () => {
  const engine = await fake(`
    await ready();
    const msg_id = await message();
    await say({ type: "stream_start", msg_id });
    let sent = 0;
    setInterval(() => console.error("sent " + sent), 20).unref();
    for (let n = 0; n < 96; n++) {
      await say({ type: "text_delta", msg_id, text: String(n) + "z".repeat(1024 * 1024) });
      sent = n + 1;
    }
    await say({ type: "stream_end", msg_id });
  `);
  const turn = engine.turn("go");
  await turn.next();
  let before = "";
  for (let same = 0; same < 10; ) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    const now = engine.stderrTail.at(-1) ?? "";
    same = now === before && now ? same + 1 : 0;
    before = now;
  }
  assert.ok(Number(before.split(" ")[1]) < 40, `${before} of 96 MiB while nobody reads`);
  const seen = [];
  for await (const event of turn) if (event.type === "text_delta") seen.push(parseInt(event.text));
  assert.deepEqual(seen, Array.from({ length: 96 }, (_, n) => n));
  await engine.close();
});

test("a ping is answered although nobody reads the events before it", async () => {
  const engine = await fake(`
    await ready();
    for (let n = 0; n < 48; n++) {
      await say({ type: "info", msg_id: "", message: "i".repeat(1024 * 1024) });
    }
    await hear();
    await say({ type: "pong" });
  `);
  await engine.ping();
  await engine.close();
});

test("a command that does not fit is refused here", async () => {
  const engine = await fake("await ready();");
  await assert.rejects(engine.send({ type: "init_history", text: "x".repeat(9e6) }), CommandTooLongError);
  await engine.close();
  await assert.rejects(engine.stop());
});

test("an engine that ignores the end of its input is ended", async () => {
  const engine = await fake(`
    process.on("SIGTERM", () => undefined);
    await ready();
    setInterval(() => undefined, 1000);
    await new Promise(() => undefined);
  `);
  const { pid } = engine;
  await engine.close();
  assert.throws(() => process.kill(pid, 0));
});

test("what could hide or move a cursor is marked", () => {
  assert.equal(visible("a\u202Eb\x1b[31m\u200d\n\tc d"), "a⟨U+202E⟩b⟨U+001B⟩[31m⟨U+200D⟩\n\tc d");
});
