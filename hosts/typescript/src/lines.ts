// Bytes to lines, bounded: a line that is too long is reported once and skipped.

export const LINE_BYTES_MAX = 8 * 1024 * 1024; // the protocol's limit, newline included
const NEWLINE = 10;
const SPACE = 32; // it and what is below are no content
const SHOWN_BYTES = 120; // of a line that is no event

/** A line, or the beginning of one that is not worth having. */
export type Line = { bytes: Buffer; problem?: string };

/** Collects chunks; `add` yields what has become a line. */
export class Lines {
  #parts: Buffer[] = [];
  #size = 0;
  #skipping = false;

  *add(chunk: Buffer): Generator<Line> {
    let start = 0;
    for (let end; (end = chunk.indexOf(NEWLINE, start)) >= 0; start = end + 1) {
      yield* this.#grown(chunk.subarray(start, end));
      const line = this.#take();
      if (line && !this.#skipping) yield { bytes: line };
      this.#skipping = false;
    }
    yield* this.#grown(chunk.subarray(start));
  }

  /** What is left when there will be no more. */
  *end(): Generator<Line> {
    const rest = this.#take();
    if (rest && !this.#skipping) yield { bytes: rest, problem: "an unfinished last line" };
  }

  *#grown(part: Buffer): Generator<Line> {
    if (this.#skipping) return;
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#size < LINE_BYTES_MAX) return;
    const beginning = Buffer.concat(this.#parts, SHOWN_BYTES);
    this.#take();
    this.#skipping = true;
    yield { bytes: beginning, problem: "a line over 8 MiB" };
  }

  #take(): Buffer | undefined {
    const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    return line?.some((byte) => byte > SPACE) ? line : undefined;
  }
}
