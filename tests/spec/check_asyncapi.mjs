// Says what the official parser of AsyncAPI finds wrong with a document: `node check_asyncapi.mjs FILE`.
import { createRequire } from "node:module";
import { join } from "node:path";

// Resolved from the folder of the run, where `.ci/run` installs it.
const { Parser, fromFile } = createRequire(join(process.cwd(), "x"))("@asyncapi/parser");

const parser = new Parser();
const { document, diagnostics } = await fromFile(parser, process.argv[2]).parse();
const wrong = diagnostics.filter((each) => each.severity <= 1);
for (const each of wrong) {
  console.error(`${each.path.join(".")}: ${each.message}`);
}
if (document === undefined || wrong.length > 0) {
  process.exit(1);
}
const count = (found) => found.all().length;
console.log(`${count(document.channels())} channels, ${count(document.messages())} messages`);
