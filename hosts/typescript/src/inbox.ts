// The events nobody has read yet: bounded, and unable to deadlock with what is being written.
//
// A host that does not read makes the engine wait. But a host that waits for the engine (for room
// to write, for the answer to a command) cannot read meanwhile, so while it waits the bound is
// lifted: then the engine can always get rid of its output and come to its input.

import type { HostEvent } from "./events.js";

const INBOX_BYTES_MAX = 16 * 1024 * 1024; // two lines of the largest size
const EVENT_BYTES = 512; // what a small event costs in memory beyond its line

export class Inbox {
  #events: { event: HostEvent; size: number }[] = [];
  #head = 0; // `shift` on a long array is slow
  #bytes = 0;
  #lifted = 0;
  #ended = false;
  #failure: Error | undefined;
  #wakers = new Set<() => void>();

  /** Add one event; resolves when there is room for another. */
  async put(event: HostEvent, bytes: number): Promise<void> {
    if (this.#ended) return;
    this.#events.push({ event, size: bytes + EVENT_BYTES });
    this.#bytes += bytes + EVENT_BYTES;
    this.#wake();
    while (this.#bytes >= INBOX_BYTES_MAX && !this.#lifted && !this.#ended) await this.#changed();
  }

  /** Return the next event, `undefined` at a wanted end; throws if the engine died. */
  async get(): Promise<HostEvent | undefined> {
    while (this.#head === this.#events.length) {
      if (this.#failure) throw this.#failure;
      if (this.#ended) return undefined;
      await this.#changed();
    }
    const { event, size } = this.#events[this.#head++]!;
    if (this.#head > 1024 && this.#head * 2 > this.#events.length) {
      this.#events.splice(0, this.#head);
      this.#head = 0;
    }
    this.#bytes -= size;
    this.#wake();
    return event;
  }

  /** Lift the bound while `job` waits for the engine and so cannot read. */
  async lifted<T>(job: () => Promise<T>): Promise<T> {
    this.#lifted += 1;
    this.#wake();
    try {
      return await job();
    } finally {
      this.#lifted -= 1;
    }
  }

  /** No more events come, and why if that was not wanted. */
  end(failure?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#wake();
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#wakers.add(resolve));
  }

  #wake(): void {
    const wakers = [...this.#wakers];
    this.#wakers.clear();
    for (const waker of wakers) waker();
  }
}
