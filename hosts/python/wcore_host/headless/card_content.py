"""What every card says of a call, in words. Pure."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from wcore_host.events import CallEvent, JsonObject, Preview, SandboxView, ToolRequest, Why
from wcore_host.visible import visible, visible_line

NAME_CHARS_MAX: Final = 60  # of a tool; a longer name is cut
QUESTION_TOOL: Final = "AskUserQuestion"
HOSTS_SHOWN: Final = 8  # as many as a call can ask for
HOST_CHARS_MAX: Final = 260  # the longest name and a port: the end of a name says whose it is
SANDBOX_ARGS: Final = ("hosts", "outside_sandbox")  # what a call asks for
Shown: TypeAlias = Callable[[str, int], str]  # makes a text visible, so many characters of it
_SHOWN_BY_DIFF: Final = frozenset({"content", "old_string", "new_string", "edits"})
_HELD: Final = {"workspace": "in the sandbox", "read_only": "in the sandbox, read only"}
_NONE: Final = "none"
_OUTSIDE: Final = (
    "OUTSIDE of the sandbox: can do all that you can; a lasting yes covers calls outside too"
)


def shown_by(request: ToolRequest) -> frozenset[str]:
    """Return the arguments that `where` and the preview show whole; all others are shown too."""
    preview, args, view = request.preview, request.tool.args, request.sandbox
    shown = frozenset[str]()
    if view is not None:
        said = {"hosts": [*view.proposed[:HOSTS_SHOWN]], "outside_sandbox": view.view == _NONE}
        shown |= {name for name, value in said.items() if args.get(name) == value}
    if preview is None or preview.truncated:
        return shown
    if preview.kind == "command" and preview.text == visible(str(args.get("command"))):
        return shown | {"command"}
    return shown | _SHOWN_BY_DIFF if preview.kind == "diff" else shown


def command_of(request: ToolRequest) -> str | None:
    """Return the whole command, if that is what the card is to show first."""
    preview, command = request.preview or Preview("command", ""), request.tool.args.get("command")
    if not isinstance(command, str) or preview.kind != "command":
        return None
    return command if visible(command).startswith(visible(preview.text)) else None


def where(view: SandboxView, shown: Shown = visible_line) -> str:
    """Return what a call will run in, and which hosts it can reach or asks to reach."""
    other = f"in {shown(view.view, HOST_CHARS_MAX)}, which this host cannot describe"
    place = {**_HELD, _NONE: _OUTSIDE}.get(view.view, other)
    known = [host for host in view.hosts if host not in view.proposed]
    reached = f", can reach {_listed(known, shown)}" if known else ""
    asked = f"; asks to reach {_listed(view.proposed, shown)}" if view.proposed else ""
    return place + (reached + asked or ("" if is_outside(view) else ": no network"))


def is_outside(view: SandboxView | None) -> bool:
    """Whether a call leaves the sandbox; in a view that we do not know it might."""
    return view is not None and view.view not in _HELD


def beyond(view: SandboxView | None) -> str:
    """Return what a lasting yes to a call in this view covers, beyond what is usual."""
    if view is None or not stands_out(view):
        return ""
    return "outside of the sandbox" if is_outside(view) else f"reaching {_listed(view.proposed)}"


def stands_out(view: SandboxView) -> bool:
    """Whether nobody has agreed before to what a call will run in."""
    return is_outside(view) or bool(view.proposed)


def title(request: ToolRequest) -> str:
    """Return the call on one line: the tool and, for a sub-agent, who it is."""
    name = visible_line(request.tool.name, NAME_CHARS_MAX)
    return f"{name}, asked by {asker(request)}" if request.agent else name


def headline(name: str, about: str, agent: Sequence[str], gap: str = " ") -> str:
    """Return a call on one line; descriptions often begin with the tool's name."""
    shown, told = visible_line(name, NAME_CHARS_MAX), visible_line(about.removeprefix("Execute: "))
    by = "/".join(visible_line(part, 40) for part in agent)
    text = told if told.startswith(shown) else f"{shown}{gap}{told}".rstrip()
    return f"{text}  ({by})" if by else text


def asker(request: CallEvent) -> str:
    """Return which sub-agent makes a call, and how its task begins; empty for the main agent."""
    agent = "/".join(visible_line(part, 40) for part in request.agent)
    return f"{agent} ({visible_line(request.task, 60)})" if request.task else agent


def reason(why: Why, shown: Shown = visible_line) -> str:
    """Return why a call asks, with the row, code, place and rule behind that."""
    facts = [shown(fact, 120) for fact in (why.row, why.code, why.source) if fact]
    facts += [f"rule {shown(why.rule, 200)}"] if why.rule else []
    detail = shown(why.detail, 1000) if why.detail else "it is not allowed yet"
    return detail + (f" [{' · '.join(facts)}]" if facts else "")


def options_of(args: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield label and description of each option."""
    options = args.get("options")
    for option in options if isinstance(options, list) else []:
        if isinstance(option, dict) and isinstance(label := option.get("label"), str):
            about = option.get("description")
            yield label, about if isinstance(about, str) else ""
        elif isinstance(option, str):
            yield option, ""


def _listed(names: Sequence[str], shown: Shown = visible_line) -> str:
    rest = len(names) - HOSTS_SHOWN
    listed = ", ".join(shown(name, HOST_CHARS_MAX) for name in names[:HOSTS_SHOWN])
    return listed + (f" and {rest} more" if rest > 0 else "")
