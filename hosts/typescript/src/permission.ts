// `canUseTool`: the host's program answers instead of a person. Every card gets an answer.
//
// Whatever the callback does (throw, return nonsense, never return), the call ends: with what it
// said, or denied. An answer goes to the call it was asked about and to no other.

import type { Command, JsonObject, Persist, Scope, ToolRequestEvent } from "./protocol.js";

/** What a callback may say. */
export type PermissionResult =
  | {
      behavior: "allow";
      /** replaces the arguments; the engine prepares and decides the call again */
      updatedInput?: JsonObject;
      /** how far the yes reaches; `once` if absent */
      scope?: Scope;
      /** how long a scope beyond `once` is kept; `session` if absent */
      persist?: Persist;
      /** what the person would have answered, for AskUserQuestion only */
      answer?: string;
    }
  | {
      behavior: "deny";
      /** the model is told this */
      message: string;
      /** ends the turn as well */
      stop?: boolean;
    };

/** What is known about a call beyond its name and input. */
export interface ToolContext {
  /** the whole request: `why`, `preview`, `suggestions`, `agent`, `digest` */
  request: ToolRequestEvent;
  /** aborted when the call is settled otherwise: no answer in time, stop */
  signal: AbortSignal;
}

/** Decides about one call that waits. Several may be decided side by side. */
export type CanUseTool = (
  toolName: string,
  input: JsonObject,
  context: ToolContext,
) => Promise<PermissionResult> | PermissionResult;

const NOBODY = "this host has nobody to ask";
const FAILED = "the host's permission callback failed";
const REFUSED = "the engine did not take the approval";
const ROUNDED = "not changed and not run: it holds a whole number beyond 2^53, which JavaScript rounds";
const SETTLE_MS = 10_000; // an approval is taken at once; a changed input is prepared first

/** Runs one callback for each waiting call and sends what it decided. */
export class Desk {
  #open = new Map<string, AbortController>();

  constructor(
    private readonly callback: CanUseTool | undefined,
    private readonly send: (command: Command) => Promise<void>,
  ) {}

  /** Start deciding `request`; returns at once. `settles`: the engine says how questions end. */
  ask(request: ToolRequestEvent, settles: boolean): void {
    const controller = new AbortController();
    this.#open.set(request.call_id, controller);
    void this.#answer(request, controller.signal, settles);
  }

  /** The call has ended by itself: what is still being decided about it is dropped. */
  settle(callId: string): void {
    this.#open.get(callId)?.abort();
    this.#open.delete(callId);
  }

  /** The engine is gone: nothing is left to decide. */
  close(): void {
    for (const callId of [...this.#open.keys()]) this.settle(callId);
  }

  async #answer(request: ToolRequestEvent, signal: AbortSignal, settles: boolean): Promise<void> {
    const result = await this.#decide(request, signal);
    if (signal.aborted) return;
    try {
      await this.send(command(request, result));
    } catch {
      await this.send(deny(request, FAILED)).catch(() => undefined); // the reader hears of it
      return;
    }
    if (result.behavior === "allow" && settles) {
      const timer = setTimeout(() => void this.#refused(request, signal), SETTLE_MS);
      timer.unref();
      signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    }
  }

  async #refused(request: ToolRequestEvent, signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.send(deny(request, REFUSED)).catch(() => undefined);
  }

  async #decide(request: ToolRequestEvent, signal: AbortSignal): Promise<PermissionResult> {
    if (!this.callback) return { behavior: "deny", message: NOBODY };
    const { name, args } = request.tool;
    try {
      const input = structuredClone(args); // changed in place it must not look unchanged
      const result = checked(await this.callback(name, input, { request, signal }));
      const isLost = result.behavior === "allow" && isChanged(request, result) && mayBeRounded(result.updatedInput);
      return isLost ? { behavior: "deny", message: ROUNDED } : result;
    } catch (error) {
      const why = error instanceof Error ? error.name : "no error object";
      return { behavior: "deny", message: `${FAILED} (${why})` };
    }
  }
}

/** Return the command that carries `result` to exactly the call of `request`. */
export function command(request: ToolRequestEvent, result: PermissionResult): Command {
  if (result.behavior === "deny") return deny(request, result.message, result.stop);
  const { updatedInput, scope, persist, answer } = result;
  return {
    type: "tool_approve",
    call_id: request.call_id,
    ...(scope !== undefined && { scope }),
    ...(persist !== undefined && { persist }),
    ...(answer !== undefined && { answer }),
    ...(isChanged(request, result) && { args: updatedInput, digest: request.digest }),
  };
}

function deny(request: ToolRequestEvent, message: string, stop = false): Command {
  return {
    type: "tool_deny",
    call_id: request.call_id,
    ...(message && { reason: message }),
    ...(stop && { stop }),
  };
}

/** Return what a careless callback returned, if it is an answer at all; throws if not. */
function checked(result: unknown): PermissionResult {
  const given = result as Record<string, unknown> | null | undefined;
  if (given?.["behavior"] === "allow") {
    const input = given["updatedInput"];
    const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
    if (input !== undefined && !isObject) throw new TypeError("updatedInput should be an object");
    return given as PermissionResult;
  }
  if (given?.["behavior"] === "deny" && typeof given["message"] === "string") {
    return given as PermissionResult;
  }
  throw new TypeError("neither allow nor deny with a message");
}

function isChanged(request: ToolRequestEvent, { updatedInput }: { updatedInput?: JsonObject }): boolean {
  return updatedInput !== undefined && JSON.stringify(updatedInput) !== JSON.stringify(request.tool.args);
}

/** Whether a number in `value` may be another one than the engine sent: JSON.parse rounds it. */
function mayBeRounded(value: unknown): boolean {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === "object" && value !== null && Object.values(value).some(mayBeRounded);
}
