// What can go wrong between a host and its engine, named by what happened.

const STDERR_LINES_SHOWN = 8; // enough for the last frames of a traceback

/** Base of everything this library throws. */
export class HostError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The engine did not get as far as `ready`: not found, refused to start, died, too slow. */
export class EngineStartError extends HostError {
  constructor(
    message: string,
    readonly exitCode: number | null = null,
  ) {
    super(message);
  }
}

/** The engine is gone although nobody asked it to go. `signal` is set if one ended it. */
export class EngineExitedError extends HostError {
  constructor(
    readonly exitCode: number | null,
    readonly signal: string | null,
    readonly stderr: readonly string[],
  ) {
    const how = signal ? `was ended by ${signal}` : `exited with code ${exitCode}`;
    const tail = stderr.slice(-STDERR_LINES_SHOWN).map((line) => `\n  ${line}`);
    super(`the engine ${how}${tail.length ? `; it last said:${tail.join("")}` : ""}`);
  }
}

/** The engine answered a command with `ok: false`; `code` is one of the protocol's codes. */
export class CommandFailedError extends HostError {
  constructor(
    readonly command: string,
    readonly code: string,
    message: string,
  ) {
    super(`${command}: ${message} (${code})`);
  }
}

/** The command would not fit into one line of the protocol, or cannot be said in JSON. */
export class CommandTooLongError extends HostError {}

/** The engine did not begin the turn; `code` says why (`busy`, `config_error`, `refused`). */
export class TurnRefusedError extends HostError {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(`${message} (${code})`);
  }
}
