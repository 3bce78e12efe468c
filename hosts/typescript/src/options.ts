// How to get an engine.

import type { CanUseTool } from "./permission.js";
import type { Mode } from "./protocol.js";

/** How to get an engine. */
export interface Options {
  /** program and arguments; `["wcore"]` if absent */
  command?: readonly string[];
  /** the workspace; this process's folder if absent */
  cwd?: string;
  /** the whole environment; this process's if absent */
  env?: NodeJS.ProcessEnv;
  /** decides about every call that waits; without it (and `attended`) every such call is denied */
  canUseTool?: CanUseTool;
  /** your code answers `tool_request` events itself */
  attended?: boolean;
  /** what runs unasked; the engine's own default (nothing) if absent */
  permissionMode?: Mode;
  /** ends the engine when aborted */
  signal?: AbortSignal;
  /** how long the engine may take to start, in milliseconds; 30,000 if absent */
  readyTimeoutMs?: number;
}
