// A client on the official TypeScript SDK: opens a session, sends prompts, tells what it saw.
// argv: the bridge's command, then --, then the ids of the options to choose, one a card;
// `cancel` cancels the turn instead. The transcript goes to stdout as one line of JSON.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const dashes = process.argv.lastIndexOf("--");
const [command, ...args] = process.argv.slice(2, dashes);
const choices = process.argv.slice(dashes + 1);
const bridge = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(bridge.stdin), Readable.toWeb(bridge.stdout));
const seen = { cards: [], updates: [], stopReasons: [] };
let sessionId = "";
let cancel = () => undefined;

const client = acp
  .client({ name: "official" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.cards.push(params);
    const optionId = choices.shift();
    if (optionId !== "cancel") return { outcome: { outcome: "selected", optionId } };
    cancel();
    return { outcome: { outcome: "cancelled" } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    seen.updates.push(params.update);
  });

await client.connectWith(stream, async (agent) => {
  const { agent: methods } = acp.methods;
  cancel = () => agent.notify(methods.session.cancel, { sessionId });
  await agent.request(methods.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const opened = await agent.request(methods.session.new, { cwd: process.cwd(), mcpServers: [] });
  sessionId = opened.sessionId;
  const prompt = [{ type: "text", text: "go" }];
  const end = await agent.request(methods.session.prompt, { sessionId, prompt });
  seen.stopReasons.push(end.stopReason);
});
bridge.stdin.end();
seen.exitCode = await new Promise((resolve) => bridge.on("exit", resolve));
console.log(JSON.stringify(seen));
