"""How other engines judge a command or a path, written from their documentation alone.

Nothing here knows the importer. Where a documentation leaves two readings, both are given.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wcore.vocabulary import Verdict

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
STRICT = {ALLOW: 0, ASK: 1, DENY: 2}
Judge = Callable[[str], Verdict]
Fits = Callable[[str, str], bool]  # pattern, text


def strictest(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=STRICT.__getitem__)


def by_strictest_list(lists: Mapping[str, Sequence[str]], fits: Fits) -> Judge:
    """Deny before ask before allow; what no list names asks."""

    def judge(text: str) -> Verdict:
        for name, verdict in (("deny", DENY), ("ask", ASK), ("allow", ALLOW)):
            if any(fits(pattern, text) for pattern in lists[name]):
                return verdict
        return ASK

    return judge


def text_judge(each: Judge, separator: str = " && ") -> Judge:
    """A text is judged command by command; the strictest counts."""
    return lambda text: strictest([each(command) for command in text.split(separator)])


# --- Claude Code ------------------------------------------------------------------------------


def claude_command_fits(pattern: str, command: str) -> bool:
    if pattern in ("", "*", ":*"):
        return True
    if pattern.endswith(":*"):
        return command == pattern[:-2] or command.startswith(pattern[:-2] + " ")
    if pattern.endswith(" *") and pattern.count("*") == 1 and command == pattern[:-2]:
        return True
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), command) is not None


def gitignore_fits(pattern: str, path: str, base: str, home: str) -> bool:
    """Whether a gitignore pattern fits a path, or a folder above it; `/x` lies below `base`."""
    if pattern.startswith("//"):
        whole = pattern[1:]
    elif pattern.startswith("/"):
        whole = base + pattern
    elif pattern.startswith("~/"):
        whole = home + pattern[1:]
    elif pattern.startswith("./") or "/" in pattern.rstrip("/"):
        whole = "/ws/" + pattern.removeprefix("./")
    else:
        whole = "/ws/**/" + pattern
    only_below = whole.endswith("/")
    expression = ""
    for part in whole.strip("/").split("/"):
        if part == "**":
            expression += "(?:/[^/]+)*"
        else:
            expression += "/" + "[^/]*".join(map(re.escape, re.split(r"\*+", part)))
    if whole.rstrip("/").endswith("/**"):
        expression += "/[^/]+"
    return re.fullmatch(expression + ("/.+" if only_below else "(?:/.*)?"), path) is not None


def gitignore_below(base: str, home: str) -> Fits:
    return lambda pattern, path: gitignore_fits(pattern, path, base, home)


# What `Read` and `Edit` stop is stopped in every tool that does the same, commands included; a stop
# of reading stops writing too. Paths of other tools are never looked at, and a pattern of MCP tools
# allows nothing unless it names the server.
CLAUDE_EDITS = ("Edit", "Write", "MultiEdit")


Ruled = tuple[str, str | None]  # tool, spec


def claude_judge(
    rules: Mapping[str, Sequence[Ruled]], fits_path: Fits
) -> Callable[[str, str, str], Verdict | None]:
    """Return what the lists say of a call: a tool, the command or path, and what a command does.

    A command comes with `reads PATH` or `writes PATH`, or nothing. `None`: no list names it.
    """

    def judge(call: str, what: str, does: str) -> Verdict | None:
        for name, verdict in (("deny", DENY), ("ask", ASK)):
            if any(claude_stops(rule, (call, what), does, fits_path) for rule in rules[name]):
                return verdict
        anywhere = re.compile(r"mcp__[^_]*\*")
        allows = [rule for rule in rules["allow"] if not anywhere.match(rule[0])]
        about = any(claude_is_about(rule, (call, what), fits_path) for rule in allows)
        return ALLOW if about else None

    return judge


def claude_is_about(rule: Ruled, call: tuple[str, str], fits_path: Fits) -> bool:
    (tool, spec), (name, what) = rule, call
    if name == "Bash":
        return tool == "Bash" and (spec is None or claude_command_fits(spec, what))
    if name.startswith("mcp__"):
        return spec is None and mcp_fits(tool, name)
    whose = "Read" if name == "Read" else "Edit"
    return rule == (name, None) or (tool == whose and (spec is None or fits_path(spec, what)))


def claude_stops(rule: Ruled, call: tuple[str, str], does: str, fits_path: Fits) -> bool:
    name, what = call
    verb, _, path = does.partition(" ") if name == "Bash" else ("writes", "", what)
    if claude_is_about(rule, call, fits_path):
        return True
    if name.startswith("mcp__") or rule[1] is None or not verb:
        return False
    tools = ("Read", "Edit") if verb == "writes" and name != "Read" else ("Read",)
    return rule[0] in tools and fits_path(rule[1], path)


def mcp_fits(pattern: str, name: str) -> bool:
    """Whether `mcp__server`, with `*` and perhaps `__tool`, fits the name of a tool."""
    if not pattern.startswith("mcp__"):
        return False
    whole = pattern if "__" in pattern[5:] or pattern.endswith("*") else f"{pattern}__*"
    return re.fullmatch(".*".join(map(re.escape, whole.split("*"))), name) is not None


# --- Codex ------------------------------------------------------------------------------------


def codex_judge(rules: Sequence[tuple[Sequence[Sequence[str]], str]]) -> Judge:
    named = {"allow": ALLOW, "prompt": ASK, "forbidden": DENY}

    def judge(command: str) -> Verdict:
        words = command.split()
        found = [
            named[decision]
            for pattern, decision in rules
            if len(words) >= len(pattern)
            and all(word in choices for word, choices in zip(words, pattern, strict=False))
        ]
        return strictest(found) if found else ASK

    return judge


# --- Gemini CLI -------------------------------------------------------------------------------


def gemini_judge(rules: Sequence[Mapping[str, Any]], *, whole_words: bool) -> Judge:
    named = {"allow": ALLOW, "ask_user": ASK, "deny": DENY}

    def fits(rule: Mapping[str, Any], command: str) -> bool:
        if "commandRegex" in rule:
            return re.match(rule["commandRegex"], command) is not None
        if "commandPrefix" not in rule:
            return True
        ends = r"(?:\s|$)" if whole_words else ""
        prefixes = [rule["commandPrefix"]]
        return any(re.match(re.escape(prefix.rstrip()) + ends, command) for prefix in prefixes)

    def judge(command: str) -> Verdict:
        for rule in sorted(rules, key=lambda rule: -rule["priority"]):
            if fits(rule, command):
                verdict = named[rule["decision"]]
                redirects = ">" in command.replace("2>&1", "") and verdict is ALLOW
                return ASK if redirects and not rule.get("allowRedirection") else verdict
        return ASK

    return judge


# --- opencode ---------------------------------------------------------------------------------


def opencode_judge(entries: Sequence[tuple[str, str]]) -> Judge:
    """The last entry that fits; without any it is allowed."""

    def fits(pattern: str, text: str) -> bool:
        if pattern.endswith(" *") and text == pattern[:-2]:
            return True
        parts = re.split(r"([*?])", pattern)
        wild = {"*": ".*", "?": "."}
        expression = "".join(wild.get(part, re.escape(part)) for part in parts)
        return re.fullmatch(expression, text, re.DOTALL) is not None

    def judge(text: str) -> Verdict:
        found = [Verdict(action) for pattern, action in entries if fits(pattern, text)]
        return found[-1] if found else ALLOW

    return judge
