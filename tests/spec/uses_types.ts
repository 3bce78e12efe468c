// Compiled, never run: what a host may write with the types, and what it may not.
import type { Command, CommandOf, Event, EventOf, Scope } from "../../protocol-spec/typescript/wcore";

function assertNever(left: never): never {
  throw new Error(String(left));
}

/** Every event by its `type`; a new one would not compile here until it is handled. */
export function said(event: Event): string {
  switch (event.type) {
    case "ready":
    case "config_changed":
      return event.capabilities.modes.join();
    case "pong":
      return "";
    case "info":
      return event.message;
    case "error":
      return event.error.code === "busy" ? "wait" : event.error.message;
    case "stream_start":
      return event.msg_id;
    case "text_delta":
    case "thinking":
      return event.text;
    case "stream_end":
      return `${event.finish_reason} ${event.usage.input_tokens}`;
    case "tool_request":
      return event.suggestions?.map(named).join() ?? event.digest;
    case "call_announced":
      return event.why?.row ?? "not decided";
    case "call_settled":
      return `${event.outcome} by ${event.by}`;
    case "tool_running":
      return event.tool_name;
    case "tool_chunk":
      return event.chunk;
    case "tool_result":
      return event.status === "success" ? event.output : "";
    case "tool_cancelled":
      return event.reason;
    case "approval_required":
      return event.context;
    case "suspend":
    case "approval_resume":
      return event.resume_token;
    case "command_result":
      return answered(event);
    case "mcp_ready":
      return event.tools.join();
    case "mcp_failed":
      return event.reason;
    case "sub_agent_event":
      return event.agent_name;
    case "session_cost":
      return String(event.total_cost_usd);
    default:
      return assertNever(event);
  }
}

function named(scope: Scope): string {
  if (typeof scope === "string") {
    return scope;
  }
  if ("always_exact" in scope) {
    return scope.always_exact.command;
  }
  if ("always_prefixes" in scope) {
    return scope.always_prefixes.prefixes.join(" ");
  }
  if ("always_server" in scope) {
    return scope.always_server.server;
  }
  if ("always_host" in scope) {
    return scope.always_host.host;
  }
  return "always_prefix" in scope ? scope.always_prefix.prefix : scope.always_path.root;
}

function answered(result: EventOf<"command_result">): string {
  if (!result.ok) {
    return result.error.message;
  }
  return result.command === "list_pending" ? String(result.calls.length) : result.command;
}

export const yes: CommandOf<"tool_approve"> = {
  type: "tool_approve",
  call_id: "c1",
  scope: { always_prefix: { prefix: "make test" } },
  args: { command: "make test", env: { CI: 1 } },
};

export const plain: Command[] = [{ type: "stop" }, { type: "set_mode", mode: "yolo" }];

// @ts-expect-error a mode that does not exist
export const mode: Command = { type: "set_mode", mode: "sometimes" };

// @ts-expect-error `call_id` is missing
export const answer: Command = { type: "tool_approve" };

// @ts-expect-error no such command
export const unknown: Command = { type: "tool_maybe", call_id: "c1" };

// @ts-expect-error no such scope
export const scope: Scope = { always_category: "exec" };
