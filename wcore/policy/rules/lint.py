"""What is probably not meant: rules that never decide, rules that say more than they seem to."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from wcore.policy import patterns, shell
from wcore.policy.rules.command_globs import is_bundle
from wcore.policy.rules.policy_file import PolicyFile
from wcore.policy.rules.rule import FILE_TOOLS, SHELL_TOOL, Rule, split
from wcore.vocabulary import Verdict

NOTES: Final = frozenset(["partial", "project-code"])  # kinds that call for no change
_NAMES: Final = (*FILE_TOOLS, SHELL_TOOL, "AskUserQuestion", "Spawn")
_KNOWN: Final = {name.casefold(): name for name in _NAMES}


class Finding(Struct, frozen=True):
    """One remark. `kind` is `dead`, `shadowed`, `over-broad`, `narrow`, `unknown` or a note.

    Notes are `partial`, of a prefix or a rule that leaves options out, and `project-code`.
    """

    source: str
    kind: str
    text: str


def lint(file: PolicyFile) -> Iterator[Finding]:
    """Yield what is odd about one file, in the order of its rules."""
    for index, rule in enumerate(file.rules):
        yield from _never_reached(rule, file.rules[:index])
        if rule.verdict is Verdict.ALLOW:
            yield from _too_much(rule)
            yield from _prefix(rule)
    for rule in (*file.deny, *file.rules):
        yield from _misspelled(rule)
        yield from _options(rule)
        if rule.verdict is Verdict.DENY:
            yield from _too_little(rule)


def _never_reached(rule: Rule, earlier: tuple[Rule, ...]) -> Iterator[Finding]:
    for other in earlier:
        if other.agent not in (None, rule.agent):
            continue
        same = other.text.strip() == rule.text.strip() and other.pin == rule.pin
        if same or (other.bare and _covers(other, rule)):
            kind = "dead" if other.verdict is rule.verdict else "shadowed"
            text = f"`{rule.text}` is never reached: `{other.text}` ({other.source}) comes first"
            yield Finding(rule.source, kind, text)
            return


def _covers(other: Rule, rule: Rule) -> bool:
    """Whether each tool that `rule` names is also named by `other`; wildcards only as `*`."""
    wide = {target.tools.text for target in other.targets}
    return "*" in wide or all(target.tools.text in wide for target in rule.targets)


def _too_much(rule: Rule) -> Iterator[Finding]:
    for target in rule.targets:
        name = target.tools.text
        if target.is_bare and name in ("*", "**", "@exec", "@mcp", "Bash", "mcp__*"):
            yield Finding(rule.source, "over-broad", f"`{rule.text}` allows every call of {name}")
            return


def _prefix(rule: Rule) -> Iterator[Finding]:
    """Say what an allowed prefix never covers, and that it runs what the project's files say."""
    for target in rule.targets:
        for words in target.grant.alternatives if target.grant else ():
            note = shell.note_of(words)
            kind = "project-code" if note.runs_project_code else "partial"
            if note.sentences:
                said = " ".join(note.sentences)
                yield Finding(rule.source, kind, f"`{rule.text}`, {' '.join(words)}: {said}")


def _options(rule: Rule) -> Iterator[Finding]:
    """Say what a rule that names an option of a command cannot hold."""
    for target in rule.targets:
        for words in target.stop.alternatives if target.stop else ():
            held = [_held(word) for word in words[1:] if word.startswith("-")]
            if held:
                said = f"{' and '.join(held)}, but no other name of it, short or long"
                yield Finding(rule.source, "partial", f"`{rule.text}` holds {said}")


def _held(option: str) -> str:
    """Return where a rule that stops holds an option that it names."""
    if is_bundle(option):
        return f"`{option}` in every order and bundling"
    return f"`{option}` in every place" + (" and shortened" if option.startswith("--") else "")


def _misspelled(rule: Rule) -> Iterator[Finding]:
    for target in rule.targets:
        name = target.tools.text
        meant = _KNOWN.get(name.casefold(), name)
        if meant != name:
            text = f"`{rule.text}` fits no call: the tool is called {meant}, not {name}"
            yield Finding(rule.source, "unknown", text)
        elif name == split(rule.text)[0] and _is_none(name):
            likely = nearest(name, _NAMES)
            hint = f"; do you mean {likely}?" if likely else ""
            yield Finding(rule.source, "unknown", f"`{rule.text}`: no tool is called {name}{hint}")


def _is_none(name: str) -> bool:
    """Whether `name` is a pattern that fits no tool of ours and none of a server."""
    if name.startswith(("@", "mcp__")):
        return False
    glob = patterns.name_glob(name)
    return not any(map(glob.match, (*_NAMES, "mcp__a__b")))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the one of `known` that was probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - `ready` does not wait for it

    folded = {each.casefold(): each for each in known}
    found = get_close_matches(name.casefold(), folded, n=1)
    return folded[found[0]] if found else None


def _too_little(rule: Rule) -> Iterator[Finding]:
    _, spec = split(rule.text)
    has_paths = any(target.paths is not None for target in rule.targets)
    if spec and has_paths and "/" not in spec and "*" in spec and spec != "**":
        text = f"`{rule.text}` is about the workspace's top folder only; everywhere is `**/{spec}`"
        yield Finding(rule.source, "narrow", text)
