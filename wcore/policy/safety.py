"""Commands that can never be right, and commands that a person must answer for. A table.

They are looked for in what a text may start (see `stops`): best effort, against accidents.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from wcore.policy import shell
from wcore.policy.shell.paths.sweeps import SYSTEM
from wcore.policy.stops import Head, Scan, Span
from wcore.vocabulary import PathFact, Verdict

_BLOCK_DEVICE: Final = (
    r"/dev/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk|dm-|md\d|mapper/)"
)
_DEVICE: Final = re.compile(_BLOCK_DEVICE)
_TO_DEVICE: Final = re.compile(r">[|&]?\s*['\"]?" + _BLOCK_DEVICE)
_FORK_BOMB: Final = re.compile(
    r"(?:function\s+)?(?P<name>[^\s(){}|&;]{1,64})\s*\(\s*\)\s*[{(]\s*(?:\S{0,64}\s+){0,8}?"
    r"(?P=name)\s*\|\s*(?P=name)\s*&"
)
_ROOT: Final = re.compile(r"/+(?:\.{1,2}/+)*(?:\.{1,2}|\*)?")
_HOME: Final = re.compile(r"(?:~|\$HOME|\$\{HOME\})/*\*?")
_SYSTEM: Final = re.compile(rf"/+(?:{'|'.join(sorted(SYSTEM))})/*\*?")
_WRITERS: Final = frozenset("tee cp mv wipefs shred blkdiscard sgdisk parted fdisk sfdisk".split())
_ELEVATED: Final = frozenset("sudo sudoedit doas su pkexec runuser run0".split())
_MANAGED: Final = frozenset("poweroff reboot halt kexec suspend hibernate emergency rescue".split())
_LEVELS: Final = frozenset(["0", "6"])
_POWER: Final = frozenset("shutdown reboot halt poweroff".split())


class Check(Struct, frozen=True):
    """One row: its name, what the command does, examples for the specification, and the verdict."""

    name: str
    what: str
    examples: tuple[str, ...]
    verdict: Verdict
    applies: Callable[[Head], bool]


class Danger(Struct, frozen=True):
    """What was found, and where."""

    check: Check
    span: Span | None = None


def _swept(words: tuple[str, ...], letters: str) -> list[str]:
    """Return the operands of a command if an option says that all below them is meant."""
    flags: set[str] = set()
    others: list[str] = []
    ended = False
    for word in words[1:]:
        if ended or not word.startswith("-") or word == "-":
            others.append(word)
        elif word == "--":
            ended = True
        elif word.startswith("--"):
            flags.add(word)
        else:
            flags |= set(word[1:])
    is_deep = not flags.isdisjoint(letters) or any(flag.startswith("--recu") for flag in flags)
    return others if is_deep else []


def _removes(place: re.Pattern[str]) -> Callable[[Head], bool]:
    def applies(started: Head) -> bool:
        return started.program == "rm" and any(map(place.fullmatch, _swept(started.words, "rR")))

    return applies


def _changes_owner_of_root(started: Head) -> bool:
    if started.program not in ("chmod", "chown", "chgrp"):
        return False
    return any(map(_ROOT.fullmatch, _swept(started.words, "R")[1:]))


def _writes_device(started: Head) -> bool:
    name = started.program
    if name == "dd":
        return any(w.startswith("of=") and _DEVICE.match(w[3:]) for w in started.words)
    if name in _WRITERS or name.startswith("mkfs") or name == "mkswap":
        return any(_DEVICE.match(word) for word in started.words[1:])
    return False


def _turns_off(started: Head) -> bool:
    if started.program in ("systemctl", "loginctl"):
        return not _MANAGED.isdisjoint(started.words[1:])
    if started.program in ("init", "telinit"):
        return not _LEVELS.isdisjoint(started.words[1:])
    return started.program in _POWER


def _is(names: frozenset[str]) -> Callable[[Head], bool]:
    return lambda started: started.program in names


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "rm-root",
        "removes the whole file system",
        ("rm -rf /", "rm -fr /*", "rm -r --no-preserve-root //"),
        Verdict.DENY,
        _removes(_ROOT),
    ),
    Check(
        "rm-home",
        "removes the home folder",
        ("rm -rf ~", "rm -r $HOME/*"),
        Verdict.DENY,
        _removes(_HOME),
    ),
    Check(
        "rm-system",
        "removes a folder of the system",
        ("rm -rf /usr", "rm -r /etc/*"),
        Verdict.DENY,
        _removes(_SYSTEM),
    ),
    Check(
        "chmod-root",
        "changes owner or rights of the whole file system",
        ("chmod -R 777 /", "chown -R me /"),
        Verdict.DENY,
        _changes_owner_of_root,
    ),
    Check(
        "block-device",
        "writes to a block device",
        ("dd if=x of=/dev/sda", "mkfs.ext4 /dev/nvme0n1", "cat x > /dev/sdb"),
        Verdict.DENY,
        _writes_device,
    ),
    Check("fork-bomb", "is a fork bomb", (":(){ :|:& };:",), Verdict.DENY, lambda _: False),
    Check(
        "other-rights",
        "runs with the rights of somebody else",
        ("sudo ls", "su -c ls", "doas ls", "pkexec ls"),
        Verdict.ASK,
        _is(_ELEVATED),
    ),
    Check(
        "power-off",
        "turns the machine off",
        ("shutdown -h now", "reboot", "systemctl poweroff", "init 0"),
        Verdict.ASK,
        _turns_off,
    ),
    Check(
        "rm-empty",
        "removes the system or the home if what the shell computes is empty",
        ('rm -rf "$(cat x)"/*',),
        Verdict.ASK,
        lambda _: False,
    ),
)
_DEVICES: Final = next(check for check in CHECKS if check.name == "block-device")
_BOMB: Final = next(check for check in CHECKS if check.name == "fork-bomb")
_RIGHTS: Final = next(check for check in CHECKS if check.name == "other-rights")


def find_danger(
    analysis: shell.Analysis,
    seen: Scan,
    verdict: Verdict,
    paths: Iterable[PathFact] = (),
) -> Danger | None:
    """Return the first command of the text that a check with this verdict is about.

    `paths` are those that the text names, as bash evaluates its words.
    """
    dangers = {path.danger for path in paths}
    for check in CHECKS:
        if check.name in dangers and check.verdict is verdict:
            return Danger(check, None)
    if verdict is Verdict.ASK and seen.computed and not _ELEVATED.isdisjoint(seen.spelled):
        return Danger(_RIGHTS, seen.computed[0].span)
    if verdict is Verdict.DENY and analysis.reason is not None:
        text = analysis.text[: shell.ROUGH_CHARS_MAX]
        for pattern, check in ((_FORK_BOMB, _BOMB), (_TO_DEVICE, _DEVICES)):
            if pattern.search(text):
                return Danger(check, analysis.span)
    for started in (*seen.heads, *seen.possible):
        for check in CHECKS:
            if check.verdict is verdict and check.applies(started):
                return Danger(check, started.span)
    return None


def as_rows() -> list[tuple[str, tuple[str, ...], Verdict]]:
    """Return the table as the specification prints it."""
    return [(check.what, check.examples, check.verdict) for check in CHECKS]
