// Keys of providers reach the engine by a descriptor: every program of this user can read the
// environment of a process that has just been started.

import { basename } from "node:path";

const SUFFIXES = ["_API_KEY", "_AUTH_TOKEN", "_API_TOKEN"];
const NAMES = new Set([
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_BEARER_TOKEN_BEDROCK",
  "HF_TOKEN",
]);

/** The descriptor that the engine reads keys from: the first behind stdin, stdout and stderr. */
export const KEYS_FD = 3;

/** What the environment of an engine is, and its keys as JSON; none for an engine of others. */
export function split(command: readonly string[], env: NodeJS.ProcessEnv) {
  const isKey = (name: string) => NAMES.has(name) || SUFFIXES.some((end) => name.endsWith(end));
  const keys = Object.entries(env).filter(([name, value]) => value !== undefined && isKey(name));
  if (keys.length === 0 || !takesKeys(command)) return { env, keys: undefined };
  const rest = Object.entries(env).filter(([name]) => !isKey(name));
  return { env: Object.fromEntries(rest), keys: JSON.stringify(Object.fromEntries(keys)) };
}

function takesKeys(command: readonly string[]): boolean {
  const module = command.indexOf("-m");
  return basename(command[0] ?? "") === "wcore" || (module > 0 && command[module + 1] === "wcore");
}
