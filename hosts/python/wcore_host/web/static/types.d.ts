// What the server tells pages: the engine's own events, and a few of the server.
// `wcore-protocol` is protocol-spec/typescript/wcore.d.ts; the tests say where it is.

import type { Capabilities, Event, HistoryMessage, InterruptedTurn, ToolApproveCommand, ToolRequestEvent } from "wcore-protocol";

export type { Capabilities, Command, Mode, Preview, SandboxView, ToolInfo, Why } from "wcore-protocol";
export type Scope = NonNullable<ToolApproveCommand["scope"]>;
export type ToolRequest = ToolRequestEvent;

/** How things stand; the server tells it again whenever something of it changes. */
export interface HostState {
  engine: "starting" | "running" | "gone";
  told?: string; // why the engine is gone
  turn?: string; // the msg_id of the running turn, else ""
  session_id?: string;
  version?: string;
  capabilities?: Capabilities;
  servers?: { [name: string]: { tools: number | null; problem: string } }; // MCP servers
  interrupted_turn?: InterruptedTurn | null;
}

export type HostEvent =
  | ({ type: "host_hello"; cut: boolean } & HostState)
  | ({ type: "host_state" } & HostState)
  | { type: "host_cleared" }
  | { type: "host_pending"; calls: readonly ToolRequest[] }
  | { type: "host_said"; msg_id: string; text: string; page: string }
  | { type: "host_note"; text: string }
  | { type: "host_history"; messages: readonly HistoryMessage[] };

export type AnyEvent = HostEvent | Event;
