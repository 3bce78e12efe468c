// A running engine, seen from its host: commands go in, typed events come out.

import { Child } from "./child.js";
import { type Asking, Commands, type Result } from "./commands.js";
import {
  CommandFailedError,
  CommandTooLongError,
  EngineExitedError,
  EngineStartError,
  HostError,
} from "./errors.js";
import { type HostEvent, read } from "./events.js";
import { Inbox } from "./inbox.js";
import { LINE_BYTES_MAX } from "./lines.js";
import type { Options } from "./options.js";
import { Desk } from "./permission.js";
import type { Capabilities, Command, ReadyEvent } from "./protocol.js";
import { Replies } from "./replies.js";
import { turn, type TurnOptions } from "./turn.js";

const READY_TIMEOUT_MS = 30_000; // what existing hosts grant
const EXIT_GRACE_MS = 5000; // from the end of stdout to the end of the process
const NOTHING_YET: Capabilities = {
  tool_approval: false,
  thinking: false,
  effort: false,
  effort_levels: [],
  modes: [],
  current_mode: "default",
  mcp: false,
};

/**
 * An engine process and the conversation with it. Iterate over it for its events.
 *
 * Iteration ends when the engine ends as it was told to, and throws `EngineExitedError` when it
 * ends by itself. Events must be read: an engine whose host does not read waits.
 */
export class Engine extends Commands implements AsyncIterable<HostEvent>, AsyncDisposable {
  readonly ready!: ReadyEvent;
  #capabilities: Capabilities = NOTHING_YET;
  readonly #child: Child;
  readonly #inbox = new Inbox();
  readonly #desk: Desk | undefined;
  readonly #replies = new Replies();
  readonly #reading: Promise<void>;
  #failure: EngineExitedError | undefined;
  #inputClosed = false;
  #closing: Promise<void> | undefined;

  private constructor(child: Child, options: Options) {
    super();
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

  get capabilities(): Capabilities {
    return this.#capabilities;
  }

  /** Whether the engine has ended, or is being ended. */
  get isOver(): boolean {
    return Boolean(this.#failure ?? this.#closing);
  }

  /** The last lines the engine logged. */
  get stderrTail(): string[] {
    return this.#child.stderrTail;
  }

  // --- the conversation -------------------------------------------------------------------------

  /**
   * Send a message and yield every event until its turn has ended.
   *
   * Aborting `signal` stops the turn: its last events still come, then the reason is thrown.
   * Leaving the loop early stops it too. Throws `TurnRefusedError` if the engine did not begin.
   */
  turn(content: string, options: TurnOptions = {}): AsyncGenerator<HostEvent, void, undefined> {
    return turn(this, content, options);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<HostEvent, void, undefined> {
    for (let event; (event = await this.#inbox.get()) !== undefined; ) yield event;
  }

  async send(command: Command): Promise<void> {
    const line = encoded(command);
    if (this.#child.mustDrain) await this.#inbox.lifted(() => this.#child.drained());
    if (this.#failure) throw this.#failure;
    if (this.#inputClosed || this.#child.isGone) throw await this.#gone();
    this.#child.write(line);
    if (this.#child.mustDrain) await this.#inbox.lifted(() => this.#child.drained());
  }

  async ping(): Promise<void> {
    await this.#expect({ type: "ping" }, this.#replies.expectPong());
  }

  async request<C extends Asking>(command: C): Promise<Result<C["type"]>> {
    if (!this.#capabilities.introspection) {
      throw new CommandFailedError(command.type, "not_supported", "no introspection here");
    }
    const { id, reply } = this.#replies.expect();
    const event = await this.#expect({ ...command, request_id: id }, reply);
    if (!event.ok) {
      const { code = "internal_error", message = "no reason given" } = event.error ?? {};
      throw new CommandFailedError(command.type, code, message);
    }
    return event as Result<C["type"]>;
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
    const ms = options.readyTimeoutMs ?? READY_TIMEOUT_MS;
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

  async #expect<E>(command: Command, reply: Promise<E>): Promise<E> {
    return this.#inbox.lifted(async () => {
      await this.send(command);
      return reply;
    });
  }

  async #read(): Promise<void> {
    for await (const line of this.#child.lines()) {
      const event = read(line);
      if (!this.#replies.take(event)) {
        this.#follow(event);
        await this.#inbox.put(event, line.bytes.length);
      }
    }
    await this.#finish();
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
    this.#replies.fail(this.#failure);
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
