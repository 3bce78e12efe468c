"""Gemini CLI: `[[rule]]` tables of a policy file. The rule of the highest priority wins there.

`commandPrefix` is the beginning of a command, `commandRegex` and `argsPattern` are expressions:
those of a rule that stops are widened to their literal beginning, those of an allow left out.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from wcore.policy.importers.commands import grant_text, stop_text, words_of
from wcore.policy.importers.draft import Draft, ForeignError
from wcore.policy.importers.values import as_object, as_texts, literal_name
from wcore.policy.rules.rule import SHELL_TOOL, ParseContext
from wcore.vocabulary import Verdict

_DECISIONS: Final = {"deny": Verdict.DENY, "ask_user": Verdict.ASK, "allow": Verdict.ALLOW}
_ORDER: Final = list(_DECISIONS)  # of rules with one priority: the strictest first
_SHELL: Final = "run_shell_command"
_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    _SHELL: (SHELL_TOOL,),
    "read_file": ("Read",),
    "read_many_files": ("Read",),
    "list_directory": ("LS",),
    "glob": ("Glob",),
    "search_file_content": ("Grep",),
    "grep_search": ("Grep",),
    "write_file": ("Write",),
    "replace": ("Edit", "MultiEdit"),
    "ask_user": ("AskUserQuestion",),
}
_CONDITIONS: Final = ("modes", "interactive", "subagent", "toolAnnotations", "argsPattern")
_KNOWN: Final = (
    *("toolName", "mcpName", "commandPrefix", "commandRegex", "decision", "priority"),
    *("denyMessage", "allowRedirection", "name", "description", *_CONDITIONS),
)
NO_REDIRECTION: Final = "decision = allow, without allowRedirection"
_IN_BRACKETS: Final = re.compile(r"\([^()]*\)")
_REGEX: Final = re.compile(r"[][.^$*+?{}\\|()]")


def from_gemini(text: str, context: ParseContext) -> Draft:
    """Return the policy that the file amounts to.

    Raises:
        ForeignError: it is not such a file.
    """
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ForeignError(f"not TOML: {error}") from error
    rules = tables.get("rule", [])
    if not isinstance(rules, list) or not all(
        isinstance(r, dict) for r in cast("list[Any]", rules)
    ):
        raise ForeignError("`rule` is no list of tables")
    draft = Draft(context, is_ordered=True)
    for key in tables:
        if key != "rule":
            draft.looser(key, "only rules are carried over")
    found = [_Rule(as_object(each, "rule")) for each in cast("list[object]", rules)]
    redirections_ask = False  # an allow without redirections hides later ones with them
    for rule in sorted(found, key=lambda rule: rule.rank):
        rule.add_to(draft, redirections_ask=redirections_ask)
        redirections_ask = redirections_ask or rule.asks_redirections
    if redirections_ask:
        draft.looser(NO_REDIRECTION, "`2>&1` is none here: what writes no file runs unasked")
    draft.finish()
    return draft


class _Rule:
    """One table, checked."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table
        self._said = ", ".join(f"{k} = {v!r}" for k, v in table.items() if k != "denyMessage")
        for key in table:
            if key not in _KNOWN:
                raise self._wrong(f"`{key}` is not known")
        decision, priority = table.get("decision"), table.get("priority")
        if str(decision) not in _DECISIONS:
            raise self._wrong("`decision` must be deny, ask_user or allow")
        if isinstance(priority, bool) or not isinstance(priority, int | float):
            raise self._wrong("`priority` must be a number")
        self._do = _DECISIONS[str(decision)]
        self.rank = (-priority, _ORDER.index(str(decision)))
        self._condition = next((key for key in _CONDITIONS if table.get(key) not in (None, [])), "")

    @property
    def asks_redirections(self) -> bool:
        """Whether it allows commands, but none that write."""
        return self._do is Verdict.ALLOW and self._table.get("allowRedirection") is not True

    def add_to(self, draft: Draft, *, redirections_ask: bool) -> None:
        """Say the rule in our words."""
        if self._do is not Verdict.ALLOW:
            for tool, spec, why in self._stops():
                draft.stop(self._do, tool, spec, self._said, why=why)
            return
        if self._condition or "commandRegex" in self._table:
            name = self._condition or "commandRegex"
            draft.left_out(self._said, f"an allow with `{name}` cannot be said here; it asks")
            return
        for name in self._allowed_names(draft):
            if name in ("*", SHELL_TOOL) and (redirections_ask or self.asks_redirections):
                why = "redirections would be allowed as well, so commands ask"
                draft.stop(Verdict.ASK, SHELL_TOOL, None, self._said, why=why)
                for category in () if name == SHELL_TOOL else ("@info", "@edit", "@mcp"):
                    draft.allow(category, self._said)
            else:
                draft.allow(name, self._said)

    def _allowed_names(self, draft: Draft) -> Iterator[str]:
        prefixes = as_texts(self._table.get("commandPrefix"), "commandPrefix")
        for prefix in prefixes:
            words, whole = words_of(prefix)
            text = grant_text(words) if whole else None
            if text is None:
                draft.left_out(self._said, f"{prefix!r} cannot be allowed here; it asks")
            else:
                yield f"{SHELL_TOOL}({text})"
        for name in () if prefixes else self._names():
            if re.match(r"mcp__[^_]*\*.*__[^*]", name):
                draft.left_out(
                    self._said, "a tool by its name on any server cannot be allowed here"
                )
            elif name in ("*", *_TOOLS) or name.startswith("mcp__"):
                yield from _TOOLS.get(name, (name,))
            else:
                draft.left_out(self._said, f"there is no tool {name} here")

    def _stops(self) -> Iterator[tuple[str, str | None, str]]:
        """Yield tool, spec, and why that is more than was said."""
        why = f"whatever `{self._condition}` says" if self._condition else ""
        prefixes = as_texts(self._table.get("commandPrefix"), "commandPrefix")
        for prefix in prefixes:
            yield self._stopped(prefix, why)
        expression = self._table.get("commandRegex")
        if expression is not None:
            literal = _literal_beginning(str(expression))
            yield self._stopped(literal, why or "every command that begins like the expression")
        elif not prefixes:
            for name in self._names(every=True):
                yield from ((tool, None, why) for tool in _TOOLS.get(name, (name,)))

    def _stopped(self, beginning: str, why: str) -> tuple[str, str | None, str]:
        words, whole = words_of(beginning)
        open_end = not whole or not beginning[-1:].isspace()
        text = stop_text(words, open_end=open_end) if words else None
        if text is None:
            return SHELL_TOOL, None, why or "every command: its beginning cannot be said here"
        return SHELL_TOOL, text, why or ("" if whole else f"every command like `{text}`")

    def _names(self, *, every: bool = False) -> Iterable[str]:
        """Return tools by their names there; those of MCP servers by their names here.

        `mcp_a_b_c` is tool `b_c` of server `a`; with `every` it is `c` of `a_b` as well.
        """
        names, server = (
            as_texts(self._table.get("toolName"), "toolName"),
            self._table.get("mcpName"),
        )
        if server is not None:
            found = literal_name(str(server))
            return [f"mcp__{found}__{literal_name(name)}" for name in names or ["*"]]
        if not names:
            raise self._wrong("it names no tool")
        found = [_our_mcp(name) for name in names]
        return [*found, *(other for name in names for other in _other_splits(name) if every)]

    def _wrong(self, text: str) -> ForeignError:
        return ForeignError(f"rule {self._said[:200]}: {text}")


def _our_mcp(name: str) -> str:
    """Return `mcp__server__tool` for `mcp_server_tool` or `server__tool`; others as they are."""
    if name == "mcp_*":
        return "mcp__*"
    if name.startswith("mcp_") and not name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp_").partition("_")
        return f"mcp__{literal_name(server)}__{literal_name(tool) or '*'}"
    if "__" in name and not name.startswith("mcp__"):
        return f"mcp__{literal_name(name)}"
    return name if name == "*" else literal_name(name)


def _other_splits(name: str) -> Iterator[str]:
    """Yield what else `mcp_a_b_c` may be, as server names may hold underscores."""
    parts = name.removeprefix("mcp_").split("_") if name.startswith("mcp_") else []
    for at in range(2, len(parts)):
        if all(parts):
            server, tool = "_".join(parts[:at]), "_".join(parts[at:])
            yield f"mcp__{literal_name(server)}__{literal_name(tool)}"


def _literal_beginning(expression: str) -> str:
    """Return what every match begins with; with alternatives for the whole that is nothing."""
    outside, was = expression, ""
    while outside != was:
        outside, was = _IN_BRACKETS.sub("", outside), outside
    if "|" in outside or ("|" in expression and "\\" in expression):
        return ""
    found = _REGEX.search(expression)
    if found is None:
        return expression
    optional = found[0] in "*?{"  # what stands before it need not be there
    return expression[: max(0, found.start() - optional)]
