// One line, one event. Never throws on what an engine writes.

import type { Line } from "./lines.js";
import type { Event, JsonObject, JsonValue } from "./protocol.js";

/** An event type newer than this library. Ignoring it is always right. */
export interface UnknownEvent {
  type: "host_unknown";
  event: JsonObject;
}

/** A line on the engine's stdout that is no event; `line` is its beginning. */
export interface GarbledLine {
  type: "host_garbled";
  problem: string;
  line: string;
}

/** What iterating an engine yields. */
export type HostEvent = Event | UnknownEvent | GarbledLine;

type Kind = "string" | "object" | "array";
type Needs = Record<string, Kind>;
const TURN: Needs = { msg_id: "string" };
const CALL: Needs = { call_id: "string" };
const TOOL: Needs = { ...TURN, ...CALL, tool: "object" };

// Every event there is, and what this library and its users rely on in it.
const NEEDS: Record<Event["type"], Needs> = {
  ready: { session_id: "string", version: "string", capabilities: "object" },
  config_changed: { capabilities: "object" },
  pong: {},
  info: { message: "string" },
  error: { error: "object" },
  stream_start: TURN,
  text_delta: { ...TURN, text: "string" },
  thinking: { ...TURN, text: "string" },
  stream_end: TURN,
  tool_request: TOOL,
  call_announced: TOOL,
  call_settled: CALL,
  tool_running: CALL,
  tool_chunk: { ...CALL, chunk: "string" },
  tool_result: { ...CALL, status: "string", output: "string" },
  tool_cancelled: { ...CALL, reason: "string" },
  approval_required: CALL,
  suspend: {},
  approval_resume: {},
  command_result: { command: "string" },
  mcp_ready: { name: "string", tools: "array" },
  mcp_failed: { name: "string", reason: "string" },
  sub_agent_event: { inner: "object" },
  session_cost: {},
};
const TOOL_NEEDS: Needs = { name: "string", category: "string", args: "object" };
const CAPABILITIES_NEED: Needs = { modes: "array", current_mode: "string" };
const ERROR_NEEDS: Needs = { code: "string", message: "string" };

/** Return the event on one line; whatever is wrong with it becomes `host_garbled`. */
export function read(line: Line): HostEvent {
  if (line.problem) return garbled(line.problem, line.bytes);
  let value: JsonValue;
  try {
    value = JSON.parse(line.bytes.toString()) as JsonValue;
  } catch (error) {
    return garbled(error instanceof Error ? error.name : "no JSON", line.bytes);
  }
  if (!isObject(value) || typeof value["type"] !== "string") {
    return garbled("not an object with a type", line.bytes);
  }
  const type = value["type"];
  if (!Object.hasOwn(NEEDS, type)) return { type: "host_unknown", event: value };
  const missing = lacks(value, NEEDS[type as Event["type"]]) ?? lacksInside(value);
  return missing ? garbled(`${type}: ${missing}`, line.bytes) : (value as unknown as Event);
}

function lacksInside(value: JsonObject): string | undefined {
  const { tool, capabilities, error } = value;
  if (isObject(tool)) return lacks(tool, TOOL_NEEDS);
  if (isObject(error)) return lacks(error, ERROR_NEEDS);
  return isObject(capabilities) ? lacks(capabilities, CAPABILITIES_NEED) : undefined;
}

function lacks(value: JsonObject, needs: Needs): string | undefined {
  for (const [name, kind] of Object.entries(needs)) {
    const field = Object.hasOwn(value, name) ? value[name] : undefined;
    const is = Array.isArray(field) ? "array" : field === null ? "null" : typeof field;
    if (is !== kind) return `${name} should be ${kind === "string" ? "text" : `an ${kind}`}`;
  }
  return undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function garbled(problem: string, bytes: Buffer): GarbledLine {
  return { type: "host_garbled", problem, line: bytes.toString("utf8", 0, 120) };
}
