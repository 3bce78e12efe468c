// The wcore protocol. Made from protocol-spec/schema by tests/write_spec.py; not edited by hand.
//
// A line that the engine writes is an Event, a line that it reads is a Command. Newer engines may
// send events and fields that are not listed here: ignore them.

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** The command with this `type`. */
export type CommandOf<T extends Command["type"]> = Extract<Command, { type: T }>;

/** The event with this `type`. */
export type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;

/** What a host may say. */
export type Command =
  | MessageCommand
  | StopCommand
  | ToolApproveCommand
  | ToolDenyCommand
  | InitHistoryCommand
  | SetModeCommand
  | SetConfigCommand
  | AddMcpServerCommand
  | PingCommand
  | ApprovalResumeCommand
  | ListPendingCommand
  | ListGrantsCommand
  | RevokeGrantCommand
  | GetHistoryCommand
  | ListPermissionsCommand
  | SetAgentToolsCommand
  | SetToolOverrideCommand
  | TrustWorkspaceCommand
  | AcceptChangesCommand
  | GiveGrantCommand
  | ResumeTurnCommand
  | RemoveMcpServerCommand;

/** What the engine says. */
export type Event =
  | ReadyEvent
  | ConfigChangedEvent
  | PongEvent
  | InfoEvent
  | ErrorEvent
  | StreamStartEvent
  | TextDeltaEvent
  | ThinkingEvent
  | StreamEndEvent
  | ToolRequestEvent
  | CallAnnouncedEvent
  | CallSettledEvent
  | ToolRunningEvent
  | ToolChunkEvent
  | ToolResultEvent
  | ToolCancelledEvent
  | ApprovalRequiredEvent
  | SuspendEvent
  | ApprovalResumeEvent
  | CommandResultEvent
  | McpReadyEvent
  | McpFailedEvent
  | SubAgentEvent
  | SessionCostEvent;

/** Let count what others have loosened since the session began. */
export interface AcceptChangesCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "accept_changes";
  /** from the `info` that named the changes */
  digest: string;
}

export interface AcceptChangesResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "accept_changes";
  /** whether it was obeyed */
  ok: true;
}

/** Connect an MCP server; possible until the first message. */
export interface AddMcpServerCommand {
  type: "add_mcp_server";
  /** names the server and its tools */
  name: string;
  /** `stdio`, `sse` or `streamable-http` */
  transport: string;
  /** program to start, for `stdio` */
  command?: string | null;
  /** its arguments */
  args?: string[] | null;
  /** variables added to its environment */
  env?: { [key: string]: string } | null;
  /** where it is, for the other transports */
  url?: string | null;
  /** sent with every request */
  headers?: { [key: string]: string } | null;
  /** seconds that it may take until its tools are listed, 1 to 86,400 */
  start_timeout_s?: number | null;
  /** seconds after which a call without result, progress or question is given up, 1 to 86,400 */
  call_timeout_s?: number | null;
  /** accepted for hosts of the family; a `url` of this machine needs no leave */
  allow_local?: boolean | null;
}

/** The tools of one agent. */
export interface AgentPermissions {
  /** joined name */
  agent: string;
  /** in their order */
  tools: ToolPermission[];
  /** `true` where built-in tools that are not listed are not offered */
  only?: true;
}

/** A tool of an agent. */
export interface AgentTool {
  /** of the tool */
  name: string;
  /** its tier */
  status?: "always_allow" | "needs_approval" | "blocked" | null;
}

/** A question to the person, for hosts that suspend. */
export interface ApprovalRequiredEvent {
  type: "approval_required";
  /** of the `tool_request` before it */
  call_id: string;
  /** for `approval_resume`; random, used once */
  resume_token: string;
  /** equal to `resume_token` */
  correlation_id: string;
  /** always `Tool requires host decision` */
  reason: string;
  /** `AskUserQuestion: ` and the question */
  context: string;
}

/** Answer a suspended call by its token. */
export interface ApprovalResumeCommand {
  type: "approval_resume";
  /** of the `suspend` event */
  resume_token: string;
  /** yes or no */
  approved: boolean;
  /** `{"answer": …}` for AskUserQuestion; the rest is ignored */
  modifications?: JsonValue;
}

/** Echo of how a suspended call ended, by whatever way. */
export interface ApprovalResumeEvent {
  type: "approval_resume";
  /** of the `suspend` event; dead from now on */
  resume_token: string;
  /** whether the call will run */
  approved: boolean;
}

/** Who ended a question. */
export type By =
  | "user"
  | "timeout"
  | "host_gone"
  | "stop"
  | "signal"
  | "policy";

/** A call that does not ask: it runs, is denied, or cannot be prepared. */
export interface CallAnnouncedEvent {
  type: "call_announced";
  /** of the turn */
  msg_id: string;
  /** names the call; never used twice in a session */
  call_id: string;
  /** the call; its arguments as the model sent them where nothing was prepared */
  tool: ToolInfo;
  /** why it does not ask; absent where nothing could be decided */
  why?: Why;
  /** what will happen */
  preview?: Preview;
  /** the sandbox that it will run in; absent: it runs as the user */
  sandbox?: SandboxView;
  /** path of the sub-agent that makes the call; absent for the main agent */
  agent?: string[];
  /** how the task begins that the sub-agent works on, on one line; absent for the main agent */
  task?: string;
}

/** How a question ended; once for every `tool_request`. */
export interface CallSettledEvent {
  type: "call_settled";
  /** of the turn */
  msg_id: string;
  /** of the `tool_request` */
  call_id: string;
  /** `expired`: nobody answered; `cancelled`: stop, end of file or a signal */
  outcome: "approved" | "denied" | "expired" | "cancelled";
  /** who ended it */
  by: By;
  /** as in the `tool_request` */
  agent?: string[];
  /** only where the host changed them: what runs */
  args?: JsonObject;
  /** only where the host changed `args`: of the changed call */
  digest?: string;
}

/** What the engine can do. Flags are `true` or absent; absent means no. */
export interface Capabilities {
  /** calls are gated; always true */
  tool_approval: boolean;
  /** the model can think first */
  thinking: boolean;
  /** the model has effort levels */
  effort: boolean;
  /** which */
  effort_levels: string[];
  /** the modes `set_mode` can reach, and the name of another engine by which the mode was set */
  modes: (Mode | string)[];
  /** the mode, by the name it was set by */
  current_mode: Mode | string;
  /** MCP servers can be connected */
  mcp: boolean;
  /** questions are suspended: `approval_required`, `suspend`, `approval_resume` */
  hitl_suspend?: true;
  /** `tool_chunk` is sent */
  streaming_tools?: true;
  /** sub-agents, and `sub_agent_event` */
  sub_agent_traces?: true;
  /** `session_cost` is sent */
  cost_attribution?: true;
  /** calls that do not ask are announced */
  call_announced?: true;
  /** every question gets `call_settled` */
  call_settled?: true;
  /** `tool_approve.args` */
  edit_args?: true;
  /** `tool_approve.persist` */
  persist?: true;
  /** the commands answered by `command_result` */
  introspection?: true;
  /**
   * `accept_changes`, `give_grant`, the scopes `always_exact` and `always_prefixes`; a grant
   * lets waiting calls go
   */
  grant_control?: true;
  /** cards can be answered; absent with `--prompts none` */
  prompts?: true;
  /** commands run in a sandbox, or not at all */
  sandbox?: SandboxInfo;
  /**
   * `memory`: the conversation is kept nowhere, by `--store none` or because the store was
   * lost; else absent
   */
  store?: "memory";
  /** name of the model */
  current_model?: string;
  /**
   * tokens that the model can read, as the engine assumes; absent for a stand-in without a
   * window
   */
  context_limit?: number;
}

/** What kind of effect a tool has. */
export type Category = "info" | "edit" | "exec" | "mcp";

/** Every error code there is. */
export type Code =
  | "protocol_error"
  | "busy"
  | "refused"
  | "not_supported"
  | "init_failed"
  | "config_error"
  | "auth_required"
  | "auth_invalid"
  | "provider_error"
  | "context_overflow"
  | "internal_error";

/** Why an introspection command was not obeyed. */
export interface CommandProblem {
  /** what kind */
  code: Code;
  /** a sentence for people */
  message: string;
}

/** The one answer to an introspection command. */
export type CommandResultEvent =
  | ListPendingResult
  | ListGrantsResult
  | RevokeGrantResult
  | GetHistoryResult
  | ListPermissionsResult
  | SetAgentToolsResult
  | SetToolOverrideResult
  | TrustWorkspaceResult
  | AcceptChangesResult
  | GiveGrantResult
  | ResumeTurnResult
  | RemoveMcpServerResult
  | FailedResult;

/** Mode or model settings changed. */
export interface ConfigChangedEvent {
  type: "config_changed";
  /** as in `ready`, new */
  capabilities: Capabilities;
}

/** Something was refused or failed. Ends no turn: `stream_end` does. */
export interface ErrorEvent {
  type: "error";
  /** what went wrong */
  error: Problem;
}

/** A command. */
export interface Exact {
  /** `args.command` of the call as it will run; at most 4,096 characters */
  command: string;
  /** in suggestions: why no prefix is offered, for people; in answers it counts for nothing */
  note?: string | null;
}

/** This very command, to the byte. */
export interface ExactScope {
  /** the command of this call */
  always_exact: Exact;
}

export interface FailedResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "list_pending" | "list_grants" | "revoke_grant" | "get_history" | "list_permissions" | "set_agent_tools" | "set_tool_override" | "trust_workspace" | "accept_changes" | "give_grant" | "resume_turn" | "remove_mcp_server";
  /** whether it was obeyed */
  ok: false;
  /** when and only when `ok` is false */
  error: CommandProblem;
}

/** Ask for the conversation so far. */
export interface GetHistoryCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "get_history";
  /** how many messages at most */
  limit?: number | null;
  /** only messages with a smaller `seq` */
  before?: number | null;
}

export interface GetHistoryResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "get_history";
  /** whether it was obeyed */
  ok: true;
  /** oldest first */
  messages: HistoryMessage[];
  /** there is more: ask again with `after` or `before` */
  more: boolean;
}

/** Give a grant without a call that waits: for hosts that keep grants themselves. */
export interface GiveGrantCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "give_grant";
  /** name of the tool; it must be there */
  tool: string;
  /** as in `tool_approve`, but not `once` */
  scope: Scope;
  /** how long it is kept */
  persist?: Persist | null;
  /** joined name of the agent */
  agent?: string | null;
}

export interface GiveGrantResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "give_grant";
  /** whether it was obeyed */
  ok: true;
  /** grants in force */
  grants: GrantInfo[];
}

/** A yes that lasts. */
export interface GrantInfo {
  /** for `revoke_grant` */
  grant_id: string;
  /** of `always`, `always_prefix`, `always_path`, `always_exact` or `always_host` */
  kind: "name" | "prefix" | "path" | "exact" | "host";
  /** name of the tool */
  tool: string;
  /** with kind `prefix` */
  prefix?: string;
  /** with kind `path` */
  root?: string;
  /** with kind `exact` */
  command?: string;
  /** with kind `host` */
  host?: string;
  /**
   * what calls may reach that it covers, as the one did that it was given to; absent: no
   * sandbox, or what was agreed to before
   */
  sandbox?: SandboxView;
  /** how long it is kept */
  persist: Persist;
  /** joined name of the agent; absent for the main agent */
  agent?: string;
  /** RFC 3339, UTC */
  created_at: string;
  /** `host` when it was given by `give_grant` */
  by?: "host";
  /** of the call it was given with, if there was one */
  from_call_id?: string;
  /** RFC 3339, UTC */
  expires_at?: string;
  /** calls it let through */
  uses: number;
}

/** A call in the history. */
export interface HistoryCall {
  /** as announced */
  call_id: string;
  /** name of the tool */
  tool: string;
  /**
   * as the model sent them, to show the call again; where those of a message take more than 256
   * KiB, texts end after 1,024 characters in `…`; absent when that is still too much, or
   * nothing could be read of them
   */
  args?: JsonObject;
}

/** One entry of the conversation. */
export interface HistoryMessage {
  /** grows by one */
  seq: number;
  /** of the turn; empty for context */
  msg_id: string;
  /** who spoke */
  role: "user" | "assistant" | "tool";
  /** of user and assistant */
  text?: string;
  /** of the assistant */
  thinking?: string;
  /** made by the assistant */
  calls?: HistoryCall[];
  /** of a tool's result */
  call_id?: string;
  /** of a tool's result */
  tool_name?: string;
  /** of a tool's result */
  status?: Status;
  /** of a tool's result */
  output?: string;
  /** of a tool's result */
  output_type?: "text" | "diff" | "image";
  /** of a tool's result */
  metadata?: JsonObject;
}

/** A host of the network. */
export interface HostName {
  /** as in `proposed` of the card's `sandbox` */
  host: string;
}

/** Reaching a host, for every command of the session. */
export interface HostScope {
  /** the host */
  always_host: HostName;
}

/** Advice for people. Needs no answer. */
export interface InfoEvent {
  type: "info";
  /** of the turn it is about; empty outside a turn and for answers to commands */
  msg_id: string;
  /** a sentence */
  message: string;
  /** of changes that wait for `accept_changes` */
  digest?: string;
}

/** Give the model context that is not a message. */
export interface InitHistoryCommand {
  type: "init_history";
  /** what the model should know */
  text: string;
}

/** A turn that had not ended when the engine did. */
export interface InterruptedTurn {
  /** its name */
  msg_id: string;
  /** calls that were parked or not started */
  pending: string[];
  /** calls that had started; nobody knows how they ended */
  unknown: string[];
}

/** Ask for the grants in force. */
export interface ListGrantsCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "list_grants";
}

export interface ListGrantsResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "list_grants";
  /** whether it was obeyed */
  ok: true;
  /** grants in force */
  grants: GrantInfo[];
}

/** Ask for the calls that wait. */
export interface ListPendingCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "list_pending";
  /** only calls asked after this `call_id`; one that waits no more means all */
  after?: string | null;
}

export interface ListPendingResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "list_pending";
  /** whether it was obeyed */
  ok: true;
  /** waiting calls, oldest first */
  calls: ToolRequestEvent[];
  /** there is more: ask again with `after` or `before` */
  more: boolean;
}

/** Ask for the tools of an agent and their tiers. */
export interface ListPermissionsCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "list_permissions";
  /** name of the agent */
  agent?: string | null;
}

export interface ListPermissionsResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "list_permissions";
  /** whether it was obeyed */
  ok: true;
  /** tools by agent */
  agents: AgentPermissions[];
}

/** An MCP server is not available. */
export interface McpFailedEvent {
  type: "mcp_failed";
  /** of the server */
  name: string;
  /** why, for people */
  reason: string;
}

/** An MCP server is connected. */
export interface McpReadyEvent {
  type: "mcp_ready";
  /** of the server */
  name: string;
  /** as the server names them */
  tools: string[];
}

/** Start a turn. During a turn it is answered `busy`. */
export interface MessageCommand {
  type: "message";
  /** names the turn; new for every message of the session */
  msg_id: string;
  /** what the user says */
  content: string;
  /** paths of files the user attached */
  files?: string[] | null;
}

/** How much runs unasked, from least to most. */
export type Mode =
  | "plan"
  | "default"
  | "read_only"
  | "auto_edit"
  | "auto_run"
  | "force";

/** A folder. */
export interface Path {
  /** absolute, `~/…`, or relative to the workspace; at most 4,096 characters */
  root: string;
  /** asking for it turns the scope into `once` */
  write?: boolean | null;
}

/** Reading below a folder outside the workspace, for info tools. */
export interface PathScope {
  /** the folder */
  always_path: Path;
}

/** How long a yes is kept: this process, this workspace, everywhere. */
export type Persist = "session" | "project" | "user";

/** Ask whether the engine is there. */
export interface PingCommand {
  type: "ping";
}

/** Answer to `ping`. */
export interface PongEvent {
  type: "pong";
}

/** Words of a command. */
export interface Prefix {
  /** at most 4,096 characters */
  prefix: string;
  /** in suggestions: what it runs and leaves out, for people; in answers it counts for nothing */
  note?: string | null;
}

/** Commands of this tool that begin with these words. */
export interface PrefixScope {
  /** the words */
  always_prefix: Prefix;
}

/** Beginnings of commands. */
export interface Prefixes {
  /** 1 to 16, each of at most 4,096 characters */
  prefixes: string[];
  /** in suggestions: what it runs and leaves out, for people; in answers it counts for nothing */
  note?: string | null;
}

/** Commands of this tool of which every part begins with one of these. */
export interface PrefixesScope {
  /** the set; all of it is kept, or nothing */
  always_prefixes: Prefixes;
}

/** What will happen, for the card. */
export interface Preview {
  /** how to show it */
  kind: "diff" | "command" | "text";
  /** at most 64 KiB, invisible characters made visible */
  text: string;
  /** there is more than is shown */
  truncated: boolean;
}

/** An error. */
export interface Problem {
  /** what kind */
  code: Code;
  /** a sentence for people */
  message: string;
  /** whether the same again may work */
  retryable: boolean;
  /** the MCP server that it is about; such an error refuses no turn */
  mcp_server?: string;
}

/** The engine is there. Always the first line. */
export interface ReadyEvent {
  type: "ready";
  /** of the engine, not of the protocol */
  version: string;
  /** names the conversation */
  session_id: string;
  /** what this engine can do, as it runs now */
  capabilities: Capabilities;
  /** after `--resume`: what a crash left open */
  interrupted_turn?: InterruptedTurn;
}

/** Disconnect an MCP server. */
export interface RemoveMcpServerCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "remove_mcp_server";
  /** of the server */
  name: string;
}

export interface RemoveMcpServerResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "remove_mcp_server";
  /** whether it was obeyed */
  ok: true;
}

/** Go on with the turn that a crash interrupted, or give it up. */
export interface ResumeTurnCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "resume_turn";
  /** what to do */
  action: "continue" | "cancel";
}

export interface ResumeTurnResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "resume_turn";
  /** whether it was obeyed */
  ok: true;
  /** the calls that were given up */
  cancelled?: string[];
}

/** Take a grant back. */
export interface RevokeGrantCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "revoke_grant";
  /** of `list_grants` */
  grant_id: string;
}

export interface RevokeGrantResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "revoke_grant";
  /** whether it was obeyed */
  ok: true;
  /** whether there was such a grant */
  revoked: boolean;
}

/** The row of the decision that decided. */
export type Row =
  | "blocked"
  | "deny"
  | "safety"
  | "unreadable"
  | "question"
  | "protected"
  | "outside"
  | "sandbox"
  | "grant"
  | "tier"
  | "rule"
  | "mode"
  | "default";

/** What a sandbox holds. */
export interface SandboxInfo {
  /** what makes it */
  kind: "bubblewrap";
  /** `full`: what is written and what is read */
  filesystem: "full";
  /** `hosts`: nothing is reached but the hosts of `SandboxView` */
  network: "hosts";
}

/** What a call will see and change. */
export interface SandboxView {
  /** `workspace`: the workspace can be written; `none`: no sandbox, everything as the user */
  view: "workspace" | "read_only" | "none";
  /**
   * the hosts that it may reach, as a policy file names them; in view `none` it reaches every
   * one
   */
  hosts: string[];
  /** those of them that the call asks for: nobody has agreed to them before */
  proposed: string[];
}

/** What a call is to run in. */
export interface SandboxWish {
  /** `none`: no sandbox */
  view?: "workspace" | "none";
  /** one by one, by name: those that it may reach beside those that were agreed to before */
  hosts?: string[];
}

/** How far a yes reaches. */
export type Scope =
  | "once"
  | "always"
  | PrefixScope
  | PrefixesScope
  | ExactScope
  | PathScope
  | ServerScope
  | HostScope;

/** An MCP server. */
export interface ServerName {
  /** its own name, as in `mcp_ready` */
  server: string;
}

/** Each tool of the MCP server of this call, as it is listed now. */
export interface ServerScope {
  /** the server */
  always_server: ServerName;
}

/** What the session cost so far. */
export interface SessionCostEvent {
  type: "session_cost";
  /** of the session */
  session_id: string;
  /** in US dollars */
  total_cost_usd: number;
  /** one entry a turn */
  per_turn: TurnCost[];
}

/** Replace the tools of an agent. */
export interface SetAgentToolsCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "set_agent_tools";
  /** name of the agent */
  agent: string;
  /** its tools, in place of those before; `null` takes all back, and rules and mode decide again */
  tools: AgentTool[] | null;
  /**
   * built-in tools that are not listed are not offered; if false, rules and mode decide about
   * them. About tools of MCP servers that are not listed rules and mode decide in any case
   */
  only?: boolean | null;
}

export interface SetAgentToolsResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "set_agent_tools";
  /** whether it was obeyed */
  ok: true;
  /** tools by agent */
  agents: AgentPermissions[];
}

/** Change settings of the model. What is left out stays. */
export interface SetConfigCommand {
  type: "set_config";
  /** its name at the same provider */
  model?: string | null;
  /** whether it thinks first */
  thinking?: "enabled" | "disabled" | null;
  /** in tokens */
  thinking_budget?: number | null;
  /** one of `capabilities.effort_levels` */
  effort?: string | null;
  /** accepted for hosts of the family; this engine has none and says so */
  compaction?: "off" | "safe" | "full" | null;
}

/** Change what runs unasked. */
export interface SetModeCommand {
  type: "set_mode";
  /** a mode, or an alias of one */
  mode: "plan" | "default" | "read_only" | "auto_edit" | "auto_run" | "force" | "yolo" | "bypassPermissions" | "dangerously_skip_permissions" | "dangerously-skip-permissions" | "auto_accept_all" | "acceptEdits" | "auto_accept_read_only" | "ask_every_time";
}

/** Say for the user that a tool needs no question any more, or needs one again. */
export interface SetToolOverrideCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "set_tool_override";
  /** name of the agent */
  agent: string;
  /** name of the tool */
  tool: string;
  /** whether it runs unasked */
  approve_always: boolean;
}

export interface SetToolOverrideResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "set_tool_override";
  /** whether it was obeyed */
  ok: true;
}

/** How a call that ran ended. */
export type Status = "success" | "error";

/** End the running turn. Without one it does nothing. */
export interface StopCommand {
  type: "stop";
}

/** The turn is over. */
export interface StreamEndEvent {
  type: "stream_end";
  /** of the turn */
  msg_id: string;
  /** why */
  finish_reason: "stop" | "length" | "error" | "max_turns";
  /** of the session so far */
  usage: UsageReport;
  /** with `--prompts none`: how many calls were denied because nobody can be asked */
  denied_unasked?: number;
}

/** A turn begins. */
export interface StreamStartEvent {
  type: "stream_start";
  /** of the `message` */
  msg_id: string;
}

/** What a sub-agent says: text, thinking, its turns. */
export interface SubAgentEvent {
  type: "sub_agent_event";
  /** of the Spawn call */
  parent_call_id: string;
  /** its name */
  agent_name: string;
  /** a whole event */
  inner: JsonObject;
}

/** The call is suspended until the host decides. */
export interface SuspendEvent {
  type: "suspend";
  /** always `awaiting host decision` */
  reason: string;
  /** as in `approval_required` */
  resume_token: string;
}

/** A piece of the model's text. */
export interface TextDeltaEvent {
  type: "text_delta";
  /** the increment */
  text: string;
  /** of the turn */
  msg_id: string;
}

/** A piece of the model's thinking. */
export interface ThinkingEvent {
  type: "thinking";
  /** the increment */
  text: string;
  /** of the turn */
  msg_id: string;
  /** what it is about, where the model says so */
  subject?: string;
}

/** Let one waiting call run. */
export interface ToolApproveCommand {
  type: "tool_approve";
  /** of the `tool_request` */
  call_id: string;
  /** how far the yes reaches */
  scope?: Scope | null;
  /** how long a scope beyond `once` is kept: this process, this workspace, everywhere */
  persist?: Persist | null;
  /** the answer to AskUserQuestion; ignored for other tools */
  answer?: string | null;
  /** other arguments to run the call with; needs `digest` */
  args?: JsonObject | null;
  /** what the call runs in, in the place of what it asked for; needs `digest` */
  sandbox?: SandboxWish | null;
  /** of the call as it was shown; if it differs, nothing happens */
  digest?: string | null;
}

/** The call did not run, or was stopped. Ends the call; no `tool_result` follows. */
export interface ToolCancelledEvent {
  type: "tool_cancelled";
  /** of the turn */
  msg_id: string;
  /** of the announcement */
  call_id: string;
  /** why, for people; the fixed reasons are listed in the approvals document */
  reason: string;
}

/** Output of a running tool, as it comes. */
export interface ToolChunkEvent {
  type: "tool_chunk";
  /** of the turn */
  msg_id: string;
  /** of the announcement */
  call_id: string;
  /** `tool.name` of the announcement */
  tool_name: string;
  /** the increment */
  chunk: string;
}

/** Refuse one waiting call. */
export interface ToolDenyCommand {
  type: "tool_deny";
  /** of the `tool_request` */
  call_id: string;
  /** told to the model and sent back in `tool_cancelled` */
  reason?: string | null;
  /** also end the turn */
  stop?: boolean | null;
}

/** A call as it is shown. */
export interface ToolInfo {
  /** of the tool */
  name: string;
  /** what kind of effect it has */
  category: Category;
  /** the arguments, in full */
  args: JsonObject;
  /** one line for people, at most about 80 characters */
  description: string;
}

/** A tool and its tier. */
export interface ToolPermission {
  /** of the tool */
  name: string;
  /** of the tool */
  category: Category;
  /** `operations` for built-in tools, `mcp` for those of servers */
  provider_key: string;
  /** the tier in force */
  status: "always_allow" | "needs_approval" | "blocked";
  /** `none`: rules and mode decide, `status` says nothing */
  status_source: "explicit" | "default" | "none";
  /** the user lets it run unasked */
  override: boolean;
  /** what a call comes to now in which neither paths nor a command decide */
  verdict: "allow" | "ask" | "deny";
}

/** A call asks. It waits for `tool_approve` or `tool_deny`. */
export interface ToolRequestEvent {
  type: "tool_request";
  /** of the turn */
  msg_id: string;
  /** names the call; never used twice in a session */
  call_id: string;
  /** the call */
  tool: ToolInfo;
  /** why it asks */
  why: Why;
  /** what will happen, for the card */
  preview?: Preview;
  /** the sandbox that it will run in, which is part of the digest; absent: it runs as the user */
  sandbox?: SandboxView;
  /** scopes beyond `once` worth offering; each covers this call, or a host that it asks for */
  suggestions?: Scope[];
  /** stands for the call as shown; at most 128 characters, without meaning to a host */
  digest: string;
  /** seconds left to answer */
  expires_in_s: number;
  /** path of the sub-agent that makes the call; absent for the main agent */
  agent?: string[];
  /** how the task begins that the sub-agent works on, on one line; absent for the main agent */
  task?: string;
}

/** The call ran, or could not be prepared. Ends the call. */
export interface ToolResultEvent {
  type: "tool_result";
  /** of the turn */
  msg_id: string;
  /** of the announcement */
  call_id: string;
  /** `tool.name` of the announcement */
  tool_name: string;
  /** whether it worked */
  status: Status;
  /** what the model is told */
  output: string;
  /** how to show it */
  output_type: "text" | "diff" | "image";
  /** more about it: `file_path` with a diff, what else depends on the tool */
  metadata?: JsonObject;
}

/** The effect begins now; repeated while the tool is silent. */
export interface ToolRunningEvent {
  type: "tool_running";
  /** of the turn */
  msg_id: string;
  /** of the announcement */
  call_id: string;
  /** `tool.name` of the announcement */
  tool_name: string;
}

/** Trust what the workspace brings along, or stop trusting it. */
export interface TrustWorkspaceCommand {
  /** comes back in the result */
  request_id?: string | null;
  type: "trust_workspace";
  /** yes or no */
  trusted: boolean;
  /** of the files as listed */
  digest?: string | null;
}

export interface TrustWorkspaceResult {
  type: "command_result";
  /** of the command, if it had one */
  request_id?: string;
  /** its `type` */
  command: "trust_workspace";
  /** whether it was obeyed */
  ok: true;
  /** whether the workspace is trusted now */
  trusted: boolean;
  /** what it brings along */
  files: TrustedFile[];
  /** of these files together; absent where there is nothing that can be trusted */
  digest?: string;
}

/** A file of the workspace that the engine reads. */
export interface TrustedFile {
  /** relative to the workspace */
  path: string;
  /** of its content */
  digest: string;
}

/** What one turn cost. */
export interface TurnCost {
  /** from 1 */
  turn: number;
  /** its name */
  model: string;
  /** its provider */
  provider: string;
  /** in US dollars */
  cost_usd: number;
  /** false: the price is not known and counted as 0 */
  priced: boolean;
}

/** Tokens since the session began, the input categories disjoint; and how full the window is. */
export interface UsageReport {
  /** read fresh */
  input_tokens: number;
  /** written */
  output_tokens: number;
  /** read from the provider's cache; absent when zero */
  cache_read_tokens?: number;
  /** written to it; absent when zero */
  cache_write_tokens?: number;
  /**
   * what the last reply of the main agent read and wrote together; absent where the provider
   * counts nothing
   */
  context_tokens?: number;
  /** the same as a share of `context_limit`, 0 to 100; absent without one of them */
  active_window_percent?: number;
}

/** Why the gate decided as it did. */
export interface Why {
  /** the row of the decision */
  row: Row;
  /** a sentence for people */
  detail: string;
  /** the rule, grant or check that fitted */
  rule?: string;
  /** where it is written: `path:line` */
  source?: string;
  /** from and to (exclusive), in UTF-8 bytes of `args.command`: the part it is about */
  span?: [number, number];
  /** why a shell text is not covered, as a short word */
  code?: string;
}
