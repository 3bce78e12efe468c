// Who waits for which answer: introspection by `request_id`, pongs in order.

import type { HostEvent } from "./events.js";
import type { CommandResultEvent, PongEvent } from "./protocol.js";

type Waiter<E> = { resolve: (event: E) => void; reject: (error: Error) => void };

/** The answers under way. One that nobody waits for any more is dropped, not mixed up. */
export class Replies {
  #byId = new Map<string, Waiter<CommandResultEvent>>();
  #pongs: Waiter<PongEvent>[] = [];
  #asked = 0;

  /** Return a new request id, and its answer. */
  expect(): { id: string; reply: Promise<CommandResultEvent> } {
    const id = `host-${++this.#asked}`;
    return { id, reply: promised((waiter) => this.#byId.set(id, waiter)) };
  }

  expectPong(): Promise<PongEvent> {
    return promised((waiter) => this.#pongs.push(waiter));
  }

  /** Hand an answer to who waits for it; `false` if nobody does. */
  take(event: HostEvent): boolean {
    if (event.type === "pong") {
      const waiter = this.#pongs.shift();
      waiter?.resolve(event);
      return waiter !== undefined;
    }
    if (event.type !== "command_result") return false;
    const id = event.request_id ?? "";
    const waiter = this.#byId.get(id);
    this.#byId.delete(id);
    waiter?.resolve(event);
    return waiter !== undefined;
  }

  /** No more answers come. */
  fail(error: Error): void {
    for (const waiter of [...this.#byId.values(), ...this.#pongs]) waiter.reject(error);
    this.#byId.clear();
    this.#pongs = [];
  }
}

function promised<E>(add: (waiter: Waiter<E>) => void): Promise<E> {
  const reply = new Promise<E>((resolve, reject) => add({ resolve, reject }));
  reply.catch(() => undefined); // whoever could not even ask is told why by the asking
  return reply;
}
