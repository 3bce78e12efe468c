// Errors that come instead of a turn, told from those that are about something else.
//
// An `error` names no turn. Before `stream_start` it may mean that the turn did not begin, or that
// an MCP server which the host has added cannot be connected: that one is followed by `mcp_failed`.

import { TurnRefusedError } from "./errors.js";
import type { HostEvent } from "./events.js";
import type { Command } from "./protocol.js";

const TURN_REFUSALS = new Set(["busy", "config_error", "refused"]);
const SERVER_PROBLEMS = new Set(["config_error", "refused", "not_supported"]);

/** Follows commands as they are sent and events as they are read, both in their order. */
export class Refusals {
  #connecting = new Map<string, number>(); // servers by name, and how often each was added

  sent(command: Command): void {
    if (command.type !== "add_mcp_server") return;
    this.#connecting.set(command.name, (this.#connecting.get(command.name) ?? 0) + 1);
  }

  /** Why no turn begins, if the last event says so and none has begun. */
  last: TurnRefusedError | undefined;

  heard(event: HostEvent): void {
    this.last = this.#refusal(event);
    if (event.type === "mcp_ready" || event.type === "mcp_failed") {
      const left = (this.#connecting.get(event.name) ?? 0) - 1;
      if (left > 0) this.#connecting.set(event.name, left);
      else this.#connecting.delete(event.name);
    }
  }

  #refusal(event: HostEvent): TurnRefusedError | undefined {
    if (event.type !== "error" || !TURN_REFUSALS.has(event.error.code)) return undefined;
    if (this.#connecting.size && SERVER_PROBLEMS.has(event.error.code)) return undefined;
    return new TurnRefusedError(event.error.code, event.error.message);
  }
}
