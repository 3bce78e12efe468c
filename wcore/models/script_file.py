"""The script format: JSON lines, one model reply each. Described in protocol-spec/script-format.md.

Everything is checked when the file is loaded, so that a wrong script never fails half-way.
"""

from codecs import BOM_UTF8
from itertools import groupby
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias, cast

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    model_validator,
)

from wcore.errors import Code, ConfigError
from wcore.models.arguments import is_finite
from wcore.models.model import FinishReason

FILE_BYTES_MAX: Final = 64 * 1024 * 1024  # it is kept in memory; large cases use `repeat`
REPEAT_MAX: Final = 100_000  # five times the longest reply that any of our cases needs
STALL_MS_MAX: Final = 600_000  # twice the approval time limit; longer is what `stall` is for


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


def _finite(args: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not is_finite(args):
        raise ValueError("a number is out of range; write it with `raw`")
    return args


Repeat: TypeAlias = Annotated[int, Field(ge=1, le=REPEAT_MAX)]
Count: TypeAlias = Annotated[int, Field(ge=0, lt=2**53)]


class CallBody(_Part):
    """A tool call; `raw` is argument text as it came, right or wrong."""

    name: str
    id: str | None = None
    args: Annotated[dict[str, JsonValue], AfterValidator(_finite)] | None = None
    raw: str | None = None

    @model_validator(mode="after")
    def _one_of_args_and_raw(self) -> Self:
        if self.args is not None and self.raw is not None:
            raise ValueError("`args` and `raw` exclude each other")
        return self


class ErrorBody(_Part):
    """How the provider fails."""

    message: str
    retryable: bool = False
    code: Literal[Code.PROVIDER, Code.AUTH_REQUIRED, Code.AUTH_INVALID, Code.CONTEXT_OVERFLOW] = (
        Code.PROVIDER
    )


class UsageBody(_Part):
    """What the reply cost."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0


class TextItem(_Part):
    """Says a piece of text."""

    text: str
    repeat: Repeat | None = None


class ThinkingItem(_Part):
    """Thinks a piece of text."""

    thinking: str
    subject: str | None = None
    repeat: Repeat | None = None


class CallItem(_Part):
    """Makes a tool call."""

    call: CallBody
    repeat: Repeat | None = None


class EchoItem(_Part):
    """Says the tool results that came in, as JSON."""

    echo: Literal[True]


class ErrorItem(_Part):
    """Fails; the reply ends here."""

    error: ErrorBody


class StallItem(_Part):
    """Waits until cancelled; the reply never ends."""

    stall: Literal[True]


class StallMsItem(_Part):
    """Waits, in milliseconds."""

    stall_ms: Annotated[int, Field(ge=1, le=STALL_MS_MAX)]


class FinishItem(_Part):
    """Sets the finish reason."""

    finish: FinishReason


class UsageItem(_Part):
    """Sets the usage."""

    usage: UsageBody


KINDS: Final = (
    "text", "thinking", "call", "echo", "error", "stall", "stall_ms", "finish", "usage",
)  # fmt: skip


def _kind(item: object) -> str | None:
    keys = cast("dict[str, object]", item) if isinstance(item, dict) else {}
    found = [kind for kind in KINDS if kind in keys]
    return found[0] if len(found) == 1 else None


Item: TypeAlias = Annotated[
    Annotated[TextItem, Tag("text")]
    | Annotated[ThinkingItem, Tag("thinking")]
    | Annotated[CallItem, Tag("call")]
    | Annotated[EchoItem, Tag("echo")]
    | Annotated[ErrorItem, Tag("error")]
    | Annotated[StallItem, Tag("stall")]
    | Annotated[StallMsItem, Tag("stall_ms")]
    | Annotated[FinishItem, Tag("finish")]
    | Annotated[UsageItem, Tag("usage")],
    Discriminator(
        _kind,
        custom_error_type="item_kind",
        custom_error_message=f"an item has exactly one of {', '.join(KINDS)}",
    ),
]


class Expectation(_Part):
    """A text in one part of what the model is given; for `tools`, the whole name of one."""

    where: Literal["input", "history", "system", "tools"]
    text: str


class Reply(_Part):
    """One line of the file: one model reply."""

    say: tuple[Item, ...]
    expect: tuple[str | Expectation, ...] = ()
    expect_not: tuple[str | Expectation, ...] = ()

    @model_validator(mode="after")
    def _nothing_after_the_end(self) -> Self:
        if any(isinstance(item, ErrorItem | StallItem) for item in self.say[:-1]):
            raise ValueError("nothing can follow an `error` or a `stall`")
        return self


class Line(Struct, frozen=True):
    """A reply and where it stands, for messages."""

    place: str
    reply: Reply


def load(path: str) -> tuple[Line, ...]:
    """Read and check a whole script.

    Raises:
        ConfigError: the file cannot be read or a line is wrong; names `path:line`.
    """
    found: list[Line] = []
    for number, line in enumerate(_read(path).removeprefix(BOM_UTF8).split(b"\n"), 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        place = f"{path}:{number}"
        try:
            found.append(Line(place, Reply.model_validate_json(line)))
        except ValidationError as error:
            raise ConfigError(f"{place}: {_first(error)}") from None
    return tuple(found)


def _read(path: str) -> bytes:
    try:
        with Path(path).expanduser().open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except (OSError, RuntimeError, ValueError) as error:  # no home, or a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: the model script cannot be read: {reason}") from error
    if len(data) > FILE_BYTES_MAX:
        raise ConfigError(f"{path}: a model script may have {FILE_BYTES_MAX} bytes, not more")
    return data


def _first(error: ValidationError) -> str:
    """Return the first problem as `where: what`; a kind and its own key read as one."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(key) for key, _ in groupby(problem["loc"]))
    return f"{where}: {problem['msg']}" if where else problem["msg"]
