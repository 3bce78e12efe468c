"""The digest of a call: bound to all that was shown, and the same wherever the tree is."""

import os

from hypothesis import given
from hypothesis import strategies as st

from wcore.tools.digests import call_digest
from wcore.vocabulary import Access, PathAccess

NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1)
BELOW = st.lists(NAMES.filter(lambda name: name not in {".", ".."}), min_size=1, max_size=3)
ROOTS = ("/w", "/w/deep", "/home/me/w", "/ww")

AS_SHOWN = {
    "tool": "Write",
    "args": {"file_path": "a", "content": "x"},
    "workspace": "/w",
    "accesses": (PathAccess("/w/a", Access.WRITE),),
    "contents": {"/w/a": "absent"},
    "depends": {"launch": "l"},
}
CHANGED = {
    "tool": "Edit",
    "args": {"file_path": "a", "content": "y"},
    "accesses": (PathAccess("/w/b", Access.WRITE),),
    "contents": {"/w/a": "other"},
    "depends": {"launch": "m"},
}


def test_whatever_else_the_call_is_changes_it() -> None:
    digests = {call_digest(**AS_SHOWN)} | {  # type: ignore[arg-type]
        call_digest(**{**AS_SHOWN, name: value})  # type: ignore[arg-type]
        for name, value in CHANGED.items()
    }
    digests.add(call_digest(**{**AS_SHOWN, "accesses": (PathAccess("/w/a", Access.READ),)}))  # type: ignore[arg-type]
    digests.add(call_digest(**{**AS_SHOWN, "accesses": ()}))  # type: ignore[arg-type]
    digests.add(call_digest(**{**AS_SHOWN, "workspace": "/"}))  # type: ignore[arg-type]
    assert len(digests) == len(CHANGED) + 4
    assert all(digest.startswith("v2:") and len(digest) <= 128 for digest in digests)


def of(workspace: str, path: str) -> str:
    accesses, contents = (PathAccess(path, Access.WRITE),), {path: "absent"}
    return call_digest("Write", {}, workspace, accesses, contents)


@given(BELOW, st.sampled_from(ROOTS), st.sampled_from(ROOTS))
def test_a_tree_that_moved_keeps_its_digests(below: list[str], here: str, there: str) -> None:
    assert of(here, os.path.join(here, *below)) == of(there, os.path.join(there, *below))
    assert of(here, here) == of(there, there)


@given(BELOW, BELOW, st.sampled_from(ROOTS))
def test_another_path_is_another_call(one: list[str], other: list[str], root: str) -> None:
    paths = {os.path.join(base, *below) for base in (root, "/", "/w") for below in (one, other)}
    assert len({of(root, path) for path in paths}) == len(paths)
