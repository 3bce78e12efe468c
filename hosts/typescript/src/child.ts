// The engine as a process: lines in both directions, its log drained, an end in bounded time.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { EngineStartError } from "./errors.js";
import * as keys from "./keys.js";
import { type Line, Lines } from "./lines.js";

const STDERR_LINES_KEPT = 50;
const STDERR_LINE_CHARS_KEPT = 4000; // a traceback as one JSON line
const EOF_GRACE_MS = 3000; // an idle engine ends within milliseconds, a turn may need a moment
const TERM_GRACE_MS = 3000; // the protocol promises two seconds
const KILL_GRACE_MS = 2000; // nothing survives SIGKILL for long

/** A running engine, in a session of its own: a Ctrl-C in the host's terminal is the host's. */
export class Child {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<void>;
  readonly #stderr: string[] = [];
  #stderrRest = "";

  private constructor(process: ChildProcessWithoutNullStreams) {
    this.#process = process;
    this.#exited = new Promise((resolve) => process.once("exit", () => resolve()));
    process.stdin.on("error", () => undefined); // that it no longer reads shows in its exit
    process.on("error", () => undefined); // of a signal that came too late
    process.stderr.setEncoding("utf8").on("data", (text: string) => this.#keep(text));
  }

  /** Start `command`; throws `EngineStartError` if there is no such program or folder. */
  static async spawn(command: readonly string[], cwd?: string, env?: NodeJS.ProcessEnv) {
    const [program = "", ...args] = command;
    const given = keys.split(command, env ?? process.env);
    // Node's pipes are sockets, which no other program can open through /proc.
    const stdio: "pipe"[] = ["pipe", "pipe", "pipe"];
    if (given.keys !== undefined) {
      args.push(`--keys-fd=${keys.KEYS_FD}`);
      stdio.push("pipe");
    }
    const options = { cwd, env: given.env, detached: true, stdio };
    const child = spawn(program, args, options) as ChildProcessWithoutNullStreams;
    const handed = child.stdio[keys.KEYS_FD] as Writable | undefined;
    handed?.on("error", () => undefined); // that it was never read shows in the engine's exit
    handed?.end(given.keys);
    try {
      await once(child, "spawn");
    } catch (error) {
      throw new EngineStartError(problem(error, program, cwd));
    }
    return new Child(child);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The last lines of the engine's log. */
  get stderrTail(): string[] {
    return [...this.#stderr, this.#stderrRest].filter((line) => line.trim());
  }

  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  get signal(): string | null {
    return this.#process.signalCode;
  }

  get mustDrain(): boolean {
    return this.#process.stdin.writableNeedDrain && !this.isGone;
  }

  get isGone(): boolean {
    return this.#process.stdin.destroyed || this.#process.stdin.writableEnded;
  }

  /** Hand one line over; `drained` says when another is welcome. */
  write(line: string): void {
    this.#process.stdin.write(line);
  }

  async drained(): Promise<void> {
    const stdin = this.#process.stdin;
    while (this.mustDrain) {
      await Promise.race([once(stdin, "drain"), once(stdin, "close"), this.#exited]);
    }
  }

  closeInput(): void {
    this.#process.stdin.end();
  }

  /** Yield stdout line by line until it ends. */
  async *lines(): AsyncGenerator<Line> {
    const lines = new Lines();
    try {
      for await (const chunk of this.#process.stdout) yield* lines.add(chunk as Buffer);
    } catch {
      // a broken pipe is the same as its end
    }
    yield* lines.end();
  }

  /** Wait at most `ms` for the end of the process; `true` if it has ended. */
  async ended(ms: number): Promise<boolean> {
    const patience = new AbortController();
    const late = sleep(ms, false, { signal: patience.signal }).catch(() => false);
    const ended = await Promise.race([this.#exited.then(() => true), late]);
    patience.abort();
    return ended || this.exitCode !== null || this.signal !== null;
  }

  /** End the process: end of input, then TERM, then KILL, each with its own patience. */
  async end(): Promise<void> {
    this.closeInput();
    if (await this.ended(EOF_GRACE_MS)) return;
    this.#process.kill("SIGTERM");
    if (await this.ended(TERM_GRACE_MS)) return;
    try {
      process.kill(-this.pid, "SIGKILL"); // it leads its own group
    } catch {
      this.#process.kill("SIGKILL"); // no groups here
    }
    await this.ended(KILL_GRACE_MS);
  }

  #keep(text: string): void {
    const lines = (this.#stderrRest + text).split("\n");
    this.#stderrRest = (lines.pop() ?? "").slice(-STDERR_LINE_CHARS_KEPT);
    const kept = lines.filter((line) => line.trim());
    this.#stderr.push(...kept.slice(-STDERR_LINES_KEPT).map(cut));
    this.#stderr.splice(0, this.#stderr.length - STDERR_LINES_KEPT);
  }
}

function cut(line: string): string {
  return line.slice(0, STDERR_LINE_CHARS_KEPT);
}

/** What kept `program` from being started. Node says ENOENT of a missing folder, too. */
function problem(error: unknown, program: string, cwd: string | undefined): string {
  if (cwd !== undefined && !existsSync(cwd)) return `there is no folder ${cwd}`;
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
    return `cannot start ${program}: ${error instanceof Error ? error.message : String(error)}`;
  }
  const hint = program === "wcore" ? ": install the engine with `pip install wcore`" : "";
  return `program not found: ${program}${hint}`;
}
