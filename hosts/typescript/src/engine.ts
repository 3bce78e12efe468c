// A running engine, seen from its host: commands go in, typed events come out.

import { Child } from "./child.js";
import {
  CommandFailedError,
  CommandTooLongError,
  EngineExitedError,
  EngineStartError,
  HostError,
  TurnRefusedError,
} from "./errors.js";
import { type HostEvent, read } from "./events.js";
import { Inbox } from "./inbox.js";
import { LINE_BYTES_MAX } from "./lines.js";
import { type CanUseTool, command as answer, Desk, type PermissionResult } from "./permission.js";
import type {
  Capabilities,
  Command,
  CommandResultEvent,
  GrantInfo,
  HistoryMessage,
  Mode,
  ReadyEvent,
  ToolRequestEvent,
} from "./protocol.js";

const EXIT_GRACE_MS = 5000; // from the end of stdout to the end of the process
const STOP_GRACE_MS = 10_000; // for the rest of a turn that nobody wants to hear
const LIST_PAGES_MAX = 1024; // the engine holds at most 1,024 waiting calls
const NOTHING_YET: Capabilities = {
  tool_approval: false,
  thinking: false,
  effort: false,
  effort_levels: [],
  modes: [],
  current_mode: "default",
  mcp: false,
};
const TURN_REFUSALS = new Set(["busy", "config_error", "refused"]);

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
  /** how long the engine may take to start, in milliseconds */
  readyTimeoutMs?: number;
}

type Reply = { resolve: (event: CommandResultEvent) => void; reject: (error: Error) => void };
type Result<C extends string> = Extract<CommandResultEvent, { command: C; ok: true }>;
type Asking = Extract<Command, { request_id?: unknown }>;

/**
 * An engine process and the conversation with it. Iterate over it for its events.
 *
 * Iteration ends when the engine ends as it was told to, and throws `EngineExitedError` when it
 * ends by itself. Events must be read: an engine whose host does not read waits.
 */
export class Engine implements AsyncIterable<HostEvent>, AsyncDisposable {
  readonly ready!: ReadyEvent;
  #capabilities: Capabilities = NOTHING_YET;
  readonly #child: Child;
  readonly #inbox = new Inbox();
  readonly #desk: Desk | undefined;
  readonly #replies = new Map<string, Reply>();
  readonly #pongs: Reply[] = [];
  readonly #reading: Promise<void>;
  #failure: EngineExitedError | undefined;
  #inputClosed = false;
  #closing: Promise<void> | undefined;
  #asked = 0;

  private constructor(child: Child, options: Options) {
    this.#child = child;
    const decides = options.canUseTool || !options.attended;
    this.#desk = decides ? new Desk(options.canUseTool, (said) => this.send(said)) : undefined;
    this.#reading = this.#read();
  }

  /** Start an engine; throws `EngineStartError` if it does not get as far as `ready`. */
  static async start(options: Options = {}): Promise<Engine> {
    options.signal?.throwIfAborted();
    const child = await Child.spawn(options.command ?? ["wcore"], options.cwd, options.env);
    const engine = new Engine(child, options);
    const abort = () => void engine.close();
    options.signal?.addEventListener("abort", abort, { once: true });
    void engine.#reading.then(() => options.signal?.removeEventListener("abort", abort));
    try {
      await engine.#begin(options);
      options.signal?.throwIfAborted();
    } catch (error) {
      await engine.close();
      throw error;
    }
    return engine;
  }

  /** The engine's process id, which is also its process group. */
  get pid(): number {
    return this.#child.pid;
  }

  /** What the engine can do now; an absent flag means no. */
  get capabilities(): Capabilities {
    return this.#capabilities;
  }

  /** The last lines the engine logged. */
  get stderrTail(): string[] {
    return this.#child.stderrTail;
  }

  // --- turns ------------------------------------------------------------------------------------

  /**
   * Send a message and yield every event until its turn has ended.
   *
   * Aborting `signal` stops the turn: its last events still come, then the reason is thrown.
   * Leaving the loop early stops it too. Throws `TurnRefusedError` if the engine did not begin.
   */
  async *turn(
    content: string,
    { files, signal }: { files?: string[]; signal?: AbortSignal } = {},
  ): AsyncGenerator<HostEvent, void, undefined> {
    signal?.throwIfAborted();
    const msg_id = crypto.randomUUID();
    const stop = () => void this.stop().catch(() => undefined);
    signal?.addEventListener("abort", stop, { once: true });
    const state = { started: false, over: false };
    try {
      await this.send({ type: "message", msg_id, content, ...(files?.length && { files }) });
      for await (const event of this) {
        const refusal = follow(event, msg_id, state);
        yield event;
        if (refusal) throw refusal;
        if (state.over) break;
      }
      signal?.throwIfAborted();
    } finally {
      signal?.removeEventListener("abort", stop);
      if (!state.over && !this.#failure && !this.#closing) await this.#abandon(msg_id, state);
    }
  }

  async #abandon(msgId: string, state: { started: boolean; over: boolean }): Promise<void> {
    const timer = setTimeout(() => void this.close(), STOP_GRACE_MS);
    try {
      await this.stop();
      for await (const event of this) {
        follow(event, msgId, state);
        if (state.over) break;
      }
    } catch {
      // it is gone: whoever speaks to it next is told
    } finally {
      clearTimeout(timer);
    }
  }

  /** End the running turn; without one it does nothing. */
  async stop(): Promise<void> {
    await this.send({ type: "stop" });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<HostEvent, void, undefined> {
    for (let event; (event = await this.#inbox.get()) !== undefined; ) yield event;
  }

  // --- commands ---------------------------------------------------------------------------------

  /**
   * Send one command; resolves when the engine may be sent another.
   *
   * Throws `EngineExitedError` if the engine is gone, `CommandTooLongError` if the command does not
   * fit into a line of 8 MiB or cannot be said in JSON.
   */
  async send(command: Command): Promise<void> {
    const line = encoded(command);
    if (this.#child.mustDrain) await this.#inbox.lifted(() => this.#child.drained());
    if (this.#failure) throw this.#failure;
    if (this.#inputClosed || this.#child.isGone) throw await this.#gone();
    this.#child.write(line);
    if (this.#child.mustDrain) await this.#inbox.lifted(() => this.#child.drained());
  }

  /** Answer a call that waits, as `canUseTool` would. */
  async answer(request: ToolRequestEvent, result: PermissionResult): Promise<void> {
    await this.send(answer(request, result));
  }

  /** Change what runs unasked; throws `CommandFailedError` if the engine keeps its mode. */
  async setPermissionMode(mode: Mode): Promise<void> {
    if (!this.#capabilities.modes.includes(mode)) {
      throw new CommandFailedError("set_mode", "refused", `this engine does not reach ${mode}`);
    }
    await this.send({ type: "set_mode", mode });
    await this.ping(); // answered in order
  }

  /** Resolves when the engine has answered. */
  async ping(): Promise<void> {
    await this.#expect((reply) => this.#pongs.push(reply), { type: "ping" });
  }

  /** The calls that wait for an answer, in order of asking. */
  async listPending(): Promise<ToolRequestEvent[]> {
    const calls: ToolRequestEvent[] = [];
    for (let page = 0; page < LIST_PAGES_MAX; page++) {
      const after = calls.at(-1)?.call_id;
      const found = await this.#request({ type: "list_pending", ...(after && { after }) });
      calls.push(...found.calls);
      if (!found.more || !found.calls.length) break;
    }
    return calls;
  }

  /** The lasting yeses that are in force. */
  async listGrants(): Promise<GrantInfo[]> {
    return (await this.#request({ type: "list_grants" })).grants;
  }

  /** Take back a lasting yes; `false` if there is none of that id. */
  async revokeGrant(grantId: string): Promise<boolean> {
    return (await this.#request({ type: "revoke_grant", grant_id: grantId })).revoked;
  }

  /** Messages, oldest first, and whether there are older ones (`before` the smallest `seq`). */
  async getHistory(
    page: { limit?: number; before?: number } = {},
  ): Promise<{ messages: HistoryMessage[]; more: boolean }> {
    const { messages, more } = await this.#request({ type: "get_history", ...page });
    return { messages, more };
  }

  // --- the end ----------------------------------------------------------------------------------

  /** Send no more: the engine finishes its turn without asking anybody, and ends. */
  closeInput(): void {
    this.#inputClosed = true;
    this.#child.closeInput();
  }

  /** End the engine: end of input, then SIGTERM, then SIGKILL; resolves when it is gone. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#inputClosed = true;
      this.#inbox.end();
      await this.#child.end();
      await this.#reading;
    })();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // --- inside -----------------------------------------------------------------------------------

  async #begin(options: Options): Promise<void> {
    const ms = options.readyTimeoutMs ?? 30_000; // what existing hosts grant
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new EngineStartError(`no ready within ${ms} ms`)), ms);
    });
    try {
      (this as { ready: ReadyEvent }).ready = await Promise.race([this.#first(), late]);
    } finally {
      clearTimeout(timer);
    }
    this.#capabilities = this.ready.capabilities;
    if (options.permissionMode) await this.setPermissionMode(options.permissionMode);
  }

  async #first(): Promise<ReadyEvent> {
    let noise = "";
    try {
      for await (const event of this) {
        if (event.type === "ready") return event;
        if (event.type === "error") {
          await this.#child.ended(EXIT_GRACE_MS);
          throw new EngineStartError(event.error.message, this.#child.exitCode);
        }
        noise ||= `; its first words were ${JSON.stringify(event).slice(0, 200)}`;
      }
    } catch (error) {
      if (!(error instanceof EngineExitedError)) throw error;
      throw new EngineStartError(`${error.message}${noise}`, error.exitCode);
    }
    throw new EngineStartError("the engine was closed before it was ready");
  }

  async #request<C extends Asking>(command: C): Promise<Result<C["type"]>> {
    if (!this.#capabilities.introspection) {
      throw new CommandFailedError(command.type, "not_supported", "no introspection here");
    }
    const request_id = `host-${++this.#asked}`;
    const event = await this.#expect((reply) => this.#replies.set(request_id, reply), {
      ...command,
      request_id,
    });
    if (!event.ok) {
      const { code = "internal_error", message = "no reason given" } = event.error ?? {};
      throw new CommandFailedError(command.type, code, message);
    }
    return event as Result<C["type"]>;
  }

  async #expect(add: (reply: Reply) => void, command: Command): Promise<CommandResultEvent> {
    const reply = new Promise<CommandResultEvent>((resolve, reject) => add({ resolve, reject }));
    reply.catch(() => undefined); // if sending fails, that is what is thrown
    return this.#inbox.lifted(async () => {
      await this.send(command);
      return reply;
    });
  }

  async #read(): Promise<void> {
    for await (const line of this.#child.lines()) {
      const event = read(line);
      if (!this.#take(event)) {
        this.#follow(event);
        await this.#inbox.put(event, line.bytes.length);
      }
    }
    await this.#finish();
  }

  /** Hand an answer to who waits for it. */
  #take(event: HostEvent): boolean {
    if (event.type === "pong") {
      const reply = this.#pongs.shift();
      reply?.resolve(event as never);
      return reply !== undefined;
    }
    if (event.type !== "command_result") return false;
    const reply = this.#replies.get(event.request_id ?? "");
    this.#replies.delete(event.request_id ?? "");
    reply?.resolve(event);
    return reply !== undefined;
  }

  /** Keep what the library itself needs to know of an event. */
  #follow(event: HostEvent): void {
    switch (event.type) {
      case "config_changed":
        this.#capabilities = event.capabilities;
        break;
      case "tool_request":
        this.#desk?.ask(event, this.#capabilities.call_settled === true);
        break;
      case "call_settled":
      case "tool_running":
      case "tool_result":
      case "tool_cancelled":
        this.#desk?.settle(event.call_id);
    }
  }

  async #finish(): Promise<void> {
    await this.#child.ended(EXIT_GRACE_MS);
    const { exitCode, signal, stderrTail } = this.#child;
    this.#failure = new EngineExitedError(exitCode, signal, stderrTail);
    this.#child.closeInput();
    this.#desk?.close();
    for (const reply of [...this.#replies.values(), ...this.#pongs]) reply.reject(this.#failure);
    this.#replies.clear();
    const wanted = this.#closing || (this.#inputClosed && exitCode === 0);
    this.#inbox.end(wanted ? undefined : this.#failure);
  }

  async #gone(): Promise<Error> {
    if (this.#inputClosed) return new HostError("the engine's input is closed");
    await this.#reading;
    return this.#failure ?? new HostError("the engine is gone");
  }
}

function encoded(command: Command): string {
  let line: string;
  try {
    line = `${JSON.stringify(command)}\n`;
  } catch (error) {
    throw new CommandTooLongError(`${command.type}: ${String(error)}`);
  }
  const bytes = Buffer.byteLength(line);
  if (bytes > LINE_BYTES_MAX) throw new CommandTooLongError(`${command.type}: ${bytes} bytes`);
  return line;
}

/** Take notice of `event`; return why the turn did not begin, if it did not. */
function follow(
  event: HostEvent,
  msgId: string,
  state: { started: boolean; over: boolean },
): TurnRefusedError | undefined {
  if (event.type === "stream_start" && event.msg_id === msgId) state.started = true;
  if (event.type === "stream_end" && event.msg_id === msgId) state.over = true;
  if (event.type === "error" && !state.started && TURN_REFUSALS.has(event.error.code)) {
    state.over = true;
    return new TurnRefusedError(event.error.code, event.error.message);
  }
  return undefined;
}
