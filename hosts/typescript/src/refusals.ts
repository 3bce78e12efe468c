// Errors that come instead of a turn, told from those that are about something else.

import { TurnRefusedError } from "./errors.js";
import type { HostEvent } from "./events.js";

const TURN_REFUSALS = new Set(["busy", "config_error", "refused"]);

/** Return why the turn does not begin, if `event`, read before any `stream_start`, says so. */
export function refusal(event: HostEvent): TurnRefusedError | undefined {
  if (event.type !== "error" || event.error.mcp_server) return undefined;
  const { code, message } = event.error;
  return TURN_REFUSALS.has(code) ? new TurnRefusedError(code, message) : undefined;
}
