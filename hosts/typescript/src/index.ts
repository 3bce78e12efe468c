// Drive an agent engine of the wcore protocol from Node.

import { Engine } from "./engine.js";
import type { Options } from "./options.js";

export { Engine } from "./engine.js";
export * from "./errors.js";
export type { GarbledLine, HostEvent, UnknownEvent } from "./events.js";
export type { Options } from "./options.js";
export type { CanUseTool, PermissionResult, ToolContext } from "./permission.js";
export type * from "./protocol.js";
export type { TurnOptions } from "./turn.js";
export { visible } from "./visible.js";

/** Start an engine: `await using engine = await connect({ canUseTool })`. */
export function connect(options?: Options): Promise<Engine> {
  return Engine.start(options);
}
