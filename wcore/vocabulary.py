"""The nouns that all packages share: categories, modes, calls, decisions, tool output.

Values only. Nothing is read here, nothing is decided.
A value is a `Struct`: making the class takes a tenth of what a frozen dataclass takes, and some
hundred are made before `ready`. `Why` and `Preview` are dataclasses: pydantic sends them as parts
of events. So is what must not show every field in its `repr`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from wcore.file_content import FileContent
from wcore.views import SandboxView

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
Args: TypeAlias = Mapping[str, Json]
#: Of an MCP tool the digests of how its server is launched and of its schema; or a sandbox's view.
Pin: TypeAlias = tuple[str, str]

ID_CHARS_MAX: Final = 128  # call ids and digests end up in file names and card keys of hosts
PREVIEW_BYTES_MAX: Final = 64 * 1024  # a card longer than this is not read by anybody
OUTPUT_BYTES_MAX: Final = 256 * 1024  # towards the model: about 64k tokens, half a large window
DESCRIPTION_CHARS_MAX: Final = 80  # hosts show it on one line (the protocol family's own cut)


class Category(StrEnum):
    """What kind of effect a tool has; hosts lay out their cards by it."""

    INFO = "info"
    EDIT = "edit"
    EXEC = "exec"
    MCP = "mcp"


class Mode(StrEnum):
    """How much runs unasked, from least to most. Order matters: see `rank`."""

    PLAN = "plan"
    DEFAULT = "default"
    READ_ONLY = "read_only"
    AUTO_EDIT = "auto_edit"
    AUTO_RUN = "auto_run"
    FORCE = "force"

    @property
    def rank(self) -> int:
        """Position in the order; a ceiling compares ranks: plan lets as much run as read_only."""
        return list(Mode).index(Mode.READ_ONLY if self is Mode.PLAN else self)


MODE_ALIASES: Final[Mapping[str, Mode]] = {  # input only; we never write these
    **{mode.value: mode for mode in Mode},
    **dict.fromkeys(("yolo", "bypassPermissions"), Mode.FORCE),
    **dict.fromkeys(("dangerously_skip_permissions", "dangerously-skip-permissions"), Mode.FORCE),
    "auto_accept_all": Mode.FORCE,
    "acceptEdits": Mode.AUTO_EDIT,
    "auto_accept_read_only": Mode.READ_ONLY,
    "ask_every_time": Mode.DEFAULT,
}


class Verdict(StrEnum):
    """What the gate says about one call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class Row(StrEnum):
    """The row of the decision table that decided; the wire's `why.row`."""

    BLOCKED = "blocked"
    DENY = "deny"
    SAFETY = "safety"
    UNREADABLE = "unreadable"
    QUESTION = "question"
    PROTECTED = "protected"
    OUTSIDE = "outside"
    SANDBOX = "sandbox"
    GRANT = "grant"
    TIER = "tier"
    RULE = "rule"
    MODE = "mode"
    DEFAULT = "default"


class By(StrEnum):
    """Who settled a call that had been asked."""

    USER = "user"
    TIMEOUT = "timeout"
    HOST_GONE = "host_gone"
    STOP = "stop"
    SIGNAL = "signal"
    POLICY = "policy"


class Persist(StrEnum):
    """How long a yes is kept."""

    SESSION = "session"
    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Why:
    """The reason for a decision, for people. `span` counts UTF-8 bytes of `args.command`."""

    row: Row
    detail: str
    rule: str | None = None
    source: str | None = None
    span: tuple[int, int] | None = None
    code: str | None = None


class Decision(Struct, frozen=True):
    """A verdict and the row that gave it."""

    verdict: Verdict
    why: Why


# --- grants -----------------------------------------------------------------------------------


class Once(Struct, frozen=True):
    """Yes to this call only."""


class Always(Struct, frozen=True):
    """Yes to this tool's name, never to its category."""


class AlwaysPrefix(Struct, frozen=True):
    """Yes to commands whose every simple command starts with these words."""

    prefix: str


class AlwaysPrefixes(Struct, frozen=True):
    """Yes to each of several prefixes, or to none: one grant each."""

    prefixes: tuple[str, ...]


class AlwaysExact(Struct, frozen=True):
    """Yes to this very command text, to the byte."""

    command: str


class AlwaysPath(Struct, frozen=True):
    """Yes to reading below a folder outside the workspace. `write` is never kept."""

    root: str
    write: bool = False


class AlwaysServer(Struct, frozen=True):
    """Yes to each tool of an MCP server as it is listed now: one grant each."""

    server: str


class AlwaysHost(Struct, frozen=True):
    """Yes to reaching a host from the sandbox, by any command of the session."""

    host: str


_Set: TypeAlias = AlwaysPrefixes | AlwaysServer
Scope: TypeAlias = Once | Always | AlwaysPrefix | AlwaysPath | AlwaysExact | AlwaysHost | _Set
Offer: TypeAlias = tuple[Scope, str | None]  # with what a person should know of it


# --- tools ------------------------------------------------------------------------------------


class Access(StrEnum):
    """What a call does to a path."""

    READ = "read"
    WRITE = "write"


class PathAccess(Struct, frozen=True):
    """One path a call will use: absolute, symlinks and `..` resolved."""

    path: str
    access: Access


class PathFact(Struct, frozen=True, array_like=True):
    """One path of a call: absolute and real; `unknown`: a word as a shell text has it.

    An unknown one that is `inside` and not protected stands for files that only rules are about;
    one that is `own` for more than were looked at.
    """

    path: str
    access: Access
    inside: bool
    protected: str | None = None
    own: bool = False  # wcore's files
    unknown: bool = False
    danger: str | None = None  # the check that removing or changing all of it meets


class ProgramFact(Struct, frozen=True, array_like=True):
    """Which file a word of a shell text would start, if it were the program: its real path.

    `inside`: it lies in the workspace, or what lies there makes it another; `shadows`: PATH has
    another of that name outside of it.
    """

    word: str
    path: str
    inside: bool = False
    shadows: bool = False


class Named(Struct, frozen=True, array_like=True):
    """What a shell text names: paths, and the programs that its words would start.

    `folders` are those that it enters, as it names them, and that are plain ones of the workspace.
    """

    paths: tuple[PathFact, ...]
    programs: tuple[ProgramFact, ...] = ()
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What will happen, for the card. `kind` is `diff`, `command` or `text`."""

    kind: str
    text: str
    truncated: bool = False


class ToolSpec(Struct, frozen=True):
    """What the model is shown of a tool. `schema` is JSON Schema for the arguments object."""

    name: str
    category: Category
    description: str
    schema: Mapping[str, Json]


class ServerTools(Struct, frozen=True):
    """All tools of an MCP server as it last listed them: `tools` are names and schema digests.

    `launch` is the first half of their pins.
    """

    server: str
    launch: str
    tools: tuple[tuple[str, str], ...]


class Prepared(Struct, frozen=True):
    """A call after validation and diff, before the gate: what is shown is what will run.

    `digest` binds an approval to everything here and to the content of the files that will
    change; `plan` is the tool's own note to itself. `look` tells what `command` names now, and
    reads the disk for that; of what was found so, `named` are the paths, `programs` what its
    words would start, `folders` the plain ones that it enters. `listed` are all tools of the
    server of an MCP tool. `replaces` is the file, as it is now, that is replaced whatever it holds,
    `sandbox` what it runs in; `None`: as the user.
    """

    tool: str
    category: Category
    args: Args
    description: str
    digest: str
    accesses: tuple[PathAccess, ...] = ()
    command: str | None = None  # shell text, for tools that run one
    preview: Preview | None = None
    plan: object = None
    look: Callable[[], Named] | None = None
    pin: Pin | None = None
    named: tuple[PathFact, ...] | None = None
    programs: tuple[ProgramFact, ...] = ()
    folders: tuple[str, ...] = ()
    listed: ServerTools | None = None
    replaces: FileContent | None = None
    sandbox: SandboxView | None = None

    @property
    def names(self) -> Named | None:
        """What its command names, where somebody has looked."""
        return None if self.named is None else Named(self.named, self.programs, self.folders)

    def looked_up(self) -> "Prepared":
        """Return the call with what its command names now, if anybody can tell. Blocks."""
        return self.naming(self.look() if self.look else None)

    def naming(self, found: Named | None) -> "Prepared":
        """Return the call with what its command names."""
        if found is None:
            return self
        return replace(self, named=found.paths, programs=found.programs, folders=found.folders)


class Status(StrEnum):
    """How a call ended, for host and model."""

    SUCCESS = "success"
    ERROR = "error"


class ToolOutput(Struct, frozen=True):
    """What a tool gives back to host and model. `output_type` is `text`, `diff` or `image`.

    `content` is what the model knows of a file from now on; it is told to nobody.
    """

    status: Status
    output: str
    output_type: str = "text"
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    content: FileContent | None = None

    @classmethod
    def failed(cls, text: str) -> "ToolOutput":
        """An error result."""
        return cls(Status.ERROR, text)


class ModelCall(Struct, frozen=True):
    """A tool call as the model made it. `model_id` may be empty, repeated or hostile.

    `args` is `None` when the arguments were not a JSON object; `problem` then says so.
    """

    model_id: str
    name: str
    args: Args | None
    problem: str = ""


class Usage(Struct, frozen=True):
    """Tokens; the input categories are disjoint."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Usage(*(mine + theirs for mine, theirs in pairs))


class UserMessage(Struct, frozen=True):
    """What the host sent. `context` marks text injected by `init_history`."""

    text: str
    files: tuple[str, ...] = ()
    context: bool = False


class AssistantMessage(Struct, frozen=True):
    """One model reply. `calls` pairs our call id with the call as the model made it.

    `provider_state` is the provider's own form of it, to be sent back: thinking and its signatures.
    """

    text: str
    thinking: str = ""
    calls: tuple[tuple[str, ModelCall], ...] = ()
    provider_state: Json = None


class ToolMessage(Struct, frozen=True):
    """The one result of one call."""

    call_id: str
    tool: str
    output: ToolOutput


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage
