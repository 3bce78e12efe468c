"""Path patterns of other engines as globs of ours: one that fits less, or one that fits more."""

import re
from typing import Final

_CLASS: Final = re.compile(r"\[[^\]]*\]?|\]")
_STARS: Final = re.compile(r"\*{2,}")
_WILD: Final = re.compile(r"[*?]")


def inside_gitignore(pattern: str) -> str | None:
    """Return a glob that fits no more than a gitignore pattern of an allow rule does.

    `None`: there is none that is plain enough. `/x` is not carried over: what it is relative to
    depends on where the settings lie.
    """
    if "\\" in pattern or _CLASS.search(pattern) or _is_rooted(pattern):
        return None
    if pattern.endswith("**/"):
        return None  # what lies in any folder, but no file of the first one
    anchored = _anchored(pattern)
    if anchored is None:
        return None
    below = anchored.endswith(("/", "/**"))  # there not the folder itself, unlike here
    return f"{anchored.removesuffix('**')}**/*" if below else anchored


def around_gitignore(pattern: str) -> list[str] | None:
    """Return globs that together fit all that a gitignore pattern fits; `None`: everything."""
    blurred = _CLASS.sub("?", re.sub(r"\\.", "?", pattern))
    anchored = _anchored(blurred)
    if anchored is None:
        return None
    whole = anchored.rstrip("/").removesuffix("/**")
    if whole in ("", "**", "*", "**/*"):
        return None
    found = [f"{whole}/**"]
    if _is_rooted(pattern):
        found.append(f"/{whole}/**")  # meant as absolute, perhaps
    return found


def _is_rooted(pattern: str) -> bool:
    return pattern.startswith("/") and not pattern.startswith("//")


def _anchored(pattern: str) -> str | None:
    """Return the pattern with its place spelled out: `.env` is `**/.env`."""
    if pattern.startswith("//") or pattern.startswith("/"):
        found = pattern[1:]
    elif pattern.startswith(("~/", "./")):
        found = pattern.removeprefix("./")
    elif "/" in pattern.rstrip("/"):
        found = pattern
    else:
        found = f"**/{pattern}"
    parts = found.split("/")
    plain = [part if part == "**" else _STARS.sub("*", part) for part in parts]
    return "/".join(plain) if any(plain) else None


def inside_wildcard(pattern: str) -> str | None:
    """Return a glob that fits no more than a pattern whose `*` also spans folders.

    `None` for an absolute one: there files of the workspace are known by their relative paths.
    """
    found = _home(_STARS.sub("*", pattern))
    if found.startswith(("/", "~")) or "[" in found or "\\" in found or found.endswith("/"):
        return None
    folder, _, name = found.rpartition("/")
    exact = name.count("*") == 1 and name.startswith("*") and not _WILD.search(folder)
    if not exact:
        return found
    above = f"{folder}/**" if folder else "**"
    return f"{above}/{name}"


def around_wildcard(pattern: str) -> str | None:
    """Return a glob that fits all that such a pattern fits; `None`: everything.

    One that begins with a wildcard fits paths outside the workspace too, so the glob is absolute.
    """
    found = re.sub(r"[\[\]\\]", "?", _home(_STARS.sub("*", pattern)))
    wild = _WILD.search(found)
    if wild is None:
        return found
    head = found[: wild.start()]
    folder, slash, begun = head.rpartition("/")
    tail = found[max(found.rfind("*"), found.rfind("?")) + 1 :]
    above = folder + slash if head else "/"
    if tail:
        return f"{above}**{tail}" if tail.startswith("/") else f"{above}**/*{tail}"
    if head:
        return f"{above}**/*" if slash else f"{begun}*/**"  # not the folder itself
    within = next((part for part in _WILD.split(found) if part and "/" not in part), None)
    return within and f"/**/*{within}*/**"


def is_whole_wildcard(pattern: str) -> bool:
    """Whether `around_wildcard` fits nothing but what the pattern fits."""
    if _home(pattern).startswith(("/", "~")):
        return False  # there not the workspace's own files
    if re.fullmatch(r"\*[^*?/\[\]\\]+\*", pattern):
        return True
    before, star, tail = pattern.partition("*")
    plain = not set("?[]\\") & set(pattern) and not pattern.endswith("/")
    in_place = before.endswith("/") or not before
    return plain and (not star or (in_place and not {"*", "/"} & set(tail)))


def _home(pattern: str) -> str:
    if pattern == "$HOME" or pattern.startswith("$HOME/"):
        return "~" + pattern.removeprefix("$HOME")
    return pattern
