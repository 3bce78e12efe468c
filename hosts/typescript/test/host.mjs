// A small host on this library, for `wcore conformance host --approves`: one turn, every card
// allowed, and said so.
// argv: the engine's command. Ends with 1 and the reason if the engine failed.
import { HostError, connect, visible } from "../dist/index.js";

try {
  const command = process.argv.slice(2);
  const allow = (name, args) => {
    console.log(visible(`allowed: ${name} ${JSON.stringify(args)}`));
    return { behavior: "allow" };
  };
  const engine = await connect({ command, canUseTool: allow });
  for await (const event of engine.turn("go")) {
    if (event.type === "text_delta") process.stdout.write(visible(event.text));
    if (event.type === "error") console.error(visible(event.error.message));
    if (event.type === "info") console.error(visible(event.message));
  }
  await engine.close();
} catch (error) {
  if (!(error instanceof HostError)) throw error;
  console.error(visible(error.message));
  process.exitCode = 1;
}
