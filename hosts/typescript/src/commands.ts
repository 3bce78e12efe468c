// What a host can say, one method a command. How lines travel is not known here.

import { CommandFailedError } from "./errors.js";
import { command as answer, type PermissionResult } from "./permission.js";
import type {
  Capabilities,
  Command,
  CommandResultEvent,
  GiveGrantCommand,
  GrantInfo,
  HistoryMessage,
  Mode,
  ToolRequestEvent,
} from "./protocol.js";

const LIST_PAGES_MAX = 1024; // the engine holds at most 1,024 waiting calls

/** A command that is answered by `command_result`. */
export type Asking = Extract<Command, { request_id?: unknown }>;
export type Result<C extends string> = Extract<CommandResultEvent, { command: C; ok: true }>;

/** The commands of the protocol; `send`, `request` and `ping` are the transport. */
export abstract class Commands {
  /** What the engine can do now; an absent flag means no. */
  abstract readonly capabilities: Capabilities;

  /**
   * Send one command; resolves when the engine may be sent another.
   *
   * Throws `EngineExitedError` if the engine is gone, `CommandTooLongError` if the command does not
   * fit into a line of 8 MiB or cannot be said in JSON.
   */
  abstract send(command: Command): Promise<void>;

  /** Resolves when the engine has answered. */
  abstract ping(): Promise<void>;

  /** Send one introspection command; throws `CommandFailedError` if its answer is no. */
  abstract request<C extends Asking>(command: C): Promise<Result<C["type"]>>;

  /** End the running turn; without one it does nothing. */
  async stop(): Promise<void> {
    await this.send({ type: "stop" });
  }

  /** Answer a call that waits, as `canUseTool` would. */
  async answer(request: ToolRequestEvent, result: PermissionResult): Promise<void> {
    await this.send(answer(request, result));
  }

  /** Change what runs unasked; throws `CommandFailedError` if the engine keeps its mode. */
  async setPermissionMode(mode: Mode): Promise<void> {
    if (!this.capabilities.modes.includes(mode)) {
      throw new CommandFailedError("set_mode", "refused", `this engine does not reach ${mode}`);
    }
    await this.send({ type: "set_mode", mode });
    await this.ping(); // answered in order
  }

  /** The calls that wait for an answer, in order of asking. */
  async listPending(): Promise<ToolRequestEvent[]> {
    const calls: ToolRequestEvent[] = [];
    for (let page = 0; page < LIST_PAGES_MAX; page++) {
      const after = calls.at(-1)?.call_id;
      const found = await this.request({ type: "list_pending", ...(after && { after }) });
      calls.push(...found.calls);
      if (!found.more || !found.calls.length) break;
    }
    return calls;
  }

  /** The lasting yeses that are in force. */
  async listGrants(): Promise<GrantInfo[]> {
    return (await this.request({ type: "list_grants" })).grants;
  }

  /** Take back a lasting yes; `false` if there is none of that id. */
  async revokeGrant(grantId: string): Promise<boolean> {
    return (await this.request({ type: "revoke_grant", grant_id: grantId })).revoked;
  }

  /** Give a grant without a call that waits; needs the flag `grant_control`. */
  async giveGrant(given: Omit<GiveGrantCommand, "type" | "request_id">): Promise<GrantInfo[]> {
    return (await this.request({ type: "give_grant", ...given })).grants;
  }

  /** Let count what others have loosened, as the `info` with this digest named it. */
  async acceptChanges(digest: string): Promise<void> {
    await this.request({ type: "accept_changes", digest });
  }

  /** Messages, oldest first, and whether there are older ones (`before` the smallest `seq`). */
  async getHistory(
    page: { limit?: number; before?: number } = {},
  ): Promise<{ messages: HistoryMessage[]; more: boolean }> {
    const { messages, more } = await this.request({ type: "get_history", ...page });
    return { messages, more };
  }
}
