// One turn, from the message to `stream_end`, whatever the reader of its events does.

import type { HostEvent } from "./events.js";
import { refusal } from "./refusals.js";
import type { Command } from "./protocol.js";

const STOP_GRACE_MS = 10_000; // for the rest of a turn that nobody wants to hear

/** What a turn needs of its engine. */
export interface Conversation extends AsyncIterable<HostEvent> {
  readonly isOver: boolean;
  send(command: Command): Promise<void>;
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** What may come with a message. */
export interface TurnOptions {
  /** paths of files the model should see */
  files?: string[];
  /** stops the turn when aborted */
  signal?: AbortSignal;
}

/** Send a message and yield every event until its turn has ended. */
export async function* turn(
  engine: Conversation,
  content: string,
  { files, signal }: TurnOptions,
): AsyncGenerator<HostEvent, void, undefined> {
  signal?.throwIfAborted();
  const turn = new Turn(engine);
  const stop = () => void engine.stop().catch(() => undefined);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const { msgId: msg_id } = turn;
    await engine.send({ type: "message", msg_id, content, ...(files?.length && { files }) });
    for await (const event of engine) {
      const refused = turn.follow(event);
      yield event;
      if (refused) throw refused;
      if (turn.isOver) break;
    }
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener("abort", stop);
    if (!turn.isOver && !engine.isOver) await turn.abandon();
  }
}

class Turn {
  readonly msgId = crypto.randomUUID();
  isOver = false;
  #hasStarted = false;

  constructor(private readonly engine: Conversation) {}

  /** Take notice of `event`; return why the turn did not begin, if it did not. */
  follow(event: HostEvent): Error | undefined {
    if (event.type === "stream_start" && event.msg_id === this.msgId) this.#hasStarted = true;
    const refused = this.#hasStarted ? undefined : refusal(event);
    const isEnd = event.type === "stream_end" && event.msg_id === this.msgId;
    this.isOver = isEnd || refused !== undefined;
    return refused;
  }

  /** Nobody hears the rest: stop it, and pass over what still comes. */
  async abandon(): Promise<void> {
    const timer = setTimeout(() => void this.engine.close(), STOP_GRACE_MS);
    try {
      await this.engine.stop();
      for await (const event of this.engine) {
        this.follow(event);
        if (this.isOver) break;
      }
    } catch {
      // it is gone: whoever speaks to it next is told
    } finally {
      clearTimeout(timer);
    }
  }
}
