// A host on @wcore/host that measures itself: node node_host.mjs DIST MESSAGES ENGINE [FLAGS...]
// The first message warms up; the rest are measured. Every card is denied. Prints one JSON object.
const [dist, messages, ...command] = process.argv.slice(2);
const { connect } = await import(dist);

const mib = () => process.memoryUsage().heapUsed / 2 ** 20; // the rest is what V8 has set aside
const canUseTool = () => ({ behavior: "deny", message: "no" });
const spawned = performance.now();
const engine = await connect({ command, canUseTool });
let accepted = 0;
let events = 0;
for await (const event of engine.turn("warm")) {
  if (event.type === "stream_start") accepted = performance.now() - spawned;
}
globalThis.gc?.();
const before = mib();
const used = process.cpuUsage();
const began = performance.now();
for (let turn = 1; turn < Number(messages); turn++) {
  for await (const _ of engine.turn("go")) events++;
}
const took = performance.now() - began;
const { user, system } = process.cpuUsage(used);
globalThis.gc?.();
const grown = mib() - before;
await engine.close();
console.log(JSON.stringify({ accepted, took, cpu: (user + system) / 1000, events, grown }));
