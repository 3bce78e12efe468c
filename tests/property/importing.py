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
                redirects = ">" in command and verdict is ALLOW
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
