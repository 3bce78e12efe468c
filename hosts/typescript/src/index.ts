// Drive an agent engine of the wcore protocol from Node.

import { Engine, type Options } from "./engine.js";

export { Engine, type Options } from "./engine.js";
export * from "./errors.js";
export type { GarbledLine, HostEvent, UnknownEvent } from "./events.js";
export type { CanUseTool, PermissionResult, ToolContext } from "./permission.js";
export type * from "./protocol.js";
export { visible } from "./visible.js";

/** Start an engine: `await using engine = await connect({ canUseTool })`. */
export function connect(options?: Options): Promise<Engine> {
  return Engine.start(options);
}
