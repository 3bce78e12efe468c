"""Looks up on disk which program each word of a shell text would start."""

import os
from collections.abc import Iterator
from typing import Final

from wcore.policy.protected import is_within
from wcore.policy.shell.mentions import folders_gone_to, rough_words, working_folders
from wcore.policy_files.modules import shadowed_modules
from wcore.policy_files.repositories import names_programs
from wcore.vocabulary import ProgramFact

WORDS_MAX: Final = 512  # of a text: some 50 ms at worst; what it starts is said at its beginning
PATH_FOLDERS_MAX: Final = 64  # of PATH; nobody has more
FOLDERS_MAX: Final = 8  # that a text goes to with `cd`: a relative word may be in any of them
_MOVES: Final = frozenset(["cd", "pushd"])


def programs_of(command: str, path: str, workspace: str) -> tuple[ProgramFact, ...]:
    """Return the programs that the words of `command` would start with `path` as its PATH.

    Only those are told that say more than the word does: they lie in the workspace, their file
    has another name, it is a git whose repository names further programs, or a module of Python
    that the workspace makes another. Blocks.
    """
    every = rough_words(command)
    words = every[:WORDS_MAX]
    below = working_folders(folders_gone_to(command)[:FOLDERS_MAX])
    folders = [os.path.join(workspace, each) for each in below]
    on_path = [each for each in path.split(":")[:PATH_FOLDERS_MAX] if each.startswith("/")]
    found: list[ProgramFact] = []
    for word in words:
        if "/" in word:
            places = [os.path.join(folder, word) for folder in folders]
            found += [fact for each in places for fact in _at(word, [each], workspace)]
        else:
            found += _at(word, [f"{folder}/{word}" for folder in on_path], workspace)
    gits = [word for word in every if word.rpartition("/")[2] == "git"]
    if gits and _runs_more(every, workspace):
        found += [ProgramFact(word, "git", inside=True, shadows=True) for word in gits]
    found += shadowed_modules(command, folders)
    return tuple(dict.fromkeys(found))


def _runs_more(words: list[str], workspace: str) -> bool:
    """Whether git runs what a repository names, in any folder that the words may lead to."""
    reached = {workspace}
    for to in [*words, *words] if not _MOVES.isdisjoint(words) else ():
        found = (os.path.join(folder, to) for folder in reached)
        reached |= {os.path.realpath(each) for each in found if os.path.isdir(each)}
        if len(reached) > FOLDERS_MAX:
            return True
    return any(names_programs(each) for each in reached)


def _at(word: str, places: list[str], workspace: str) -> Iterator[ProgramFact]:
    """Yield the program that is found first, if it says more than `word`."""
    first = next((place for place in places if _is_program(place)), None)
    if first is None:
        return
    real = os.path.realpath(first)
    inside = is_within(real, workspace)
    later = places[places.index(first) + 1 :] if inside else []
    shadows = any(
        _is_program(place) and not is_within(os.path.realpath(place), workspace) for place in later
    )
    if inside or os.path.basename(real) != os.path.basename(word):
        yield ProgramFact(word, real, inside, shadows)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
