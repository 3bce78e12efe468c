"""What Write, Edit, MultiEdit and Delete share: a change is shown whole, then done whole."""

import os
from collections.abc import Callable

from anyio import to_thread
from msgspec import Struct

from wcore.alike_names import lookalike, true_name
from wcore.errors import ToolError
from wcore.file_content import FileContent
from wcore.tools.digests import ABSENT, call_digest, content_digest
from wcore.tools.fs import diffs, files
from wcore.tools.fs.editorconfig import charset_for
from wcore.tools.fs.files import Snapshot
from wcore.tools.fs.paths import (
    description_line,
    display_path,
    inside,
    needs_approval,
    quote_path,
    target_paths,
)
from wcore.tools.fs.text_encoding import Text, decode
from wcore.tools.tool import RunContext, ToolEnvironment
from wcore.visible import visible
from wcore.vocabulary import (
    Access,
    Args,
    Category,
    PathAccess,
    Prepared,
    Preview,
    Status,
    ToolOutput,
)


class Before(Struct, frozen=True):
    """A file as it is now. Where it is no text, `reason` says why; `charset` is the project's."""

    snapshot: Snapshot
    text: Text | None = None
    reason: str = ""
    charset: str | None = None


class ChangingTool(Struct, frozen=True):
    """What the tools that change a file have in common."""

    environment: ToolEnvironment

    def target_paths(self, args: Args) -> frozenset[str]:
        """Return the file that will be changed."""
        return target_paths(self.environment, args)

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Write or remove what was shown."""
        return await apply_change(self.environment, prepared)


class FileChange(Struct, frozen=True):
    """The plan of an edit: `after` is the new content, `None` when the file goes."""

    path: str
    expected: str
    after: bytes | None
    diff: str


class ImpossibleChange(Struct, frozen=True):
    """A change that cannot be made; told only after the gate, because the reason tells too."""

    reason: str


class ChangeRequest(Struct, frozen=True):
    """One call of an editing tool: which file, and what its new content is."""

    tool: str
    verb: str
    args: Args
    path: str
    make: Callable[[Before], Text | None]
    links: bool = False
    is_whole: bool = False  # the new content does not come from the old one


async def prepare_change(environment: ToolEnvironment, intent: ChangeRequest) -> Prepared:
    """See the file, make the new content, and show the difference.

    Nothing is changed yet, so a thread that hangs in a slow disk is left behind when cancelled.

    Raises:
        ToolError: it cannot be done. For a file that is outside or protected this is told by
            `run` instead: what it holds must not leak before a person has said yes.
    """
    return await to_thread.run_sync(_prepared, environment, intent, abandon_on_cancel=True)


def _prepared(environment: ToolEnvironment, intent: ChangeRequest) -> Prepared:
    _require_workspace(environment, intent.path)
    expected, result = "", ""
    replaces: FileContent | None = None
    try:
        before = _before(environment, intent)
        _require_true_name(environment, intent.path, before)
        expected = before.snapshot.digest
        if intent.is_whole and not before.snapshot.absent:
            replaces = FileContent(intent.path, expected)
        after = intent.make(before)
        files.hear_stop()
        card, diff = _difference(display_path(environment, intent.path), before, after)
        stored = None if after is None else after.encode()
        result = ABSENT if stored is None else content_digest(stored)
        plan: FileChange | ImpossibleChange = FileChange(intent.path, expected, stored, diff)
    except ToolError as error:
        if not needs_approval(environment, intent.path):
            raise
        card, plan = (
            Preview("text", visible(f"This will fail: {error}")),
            ImpossibleChange(str(error)),
        )
    accesses = (PathAccess(intent.path, Access.WRITE),)
    return Prepared(
        tool=intent.tool,
        category=Category.EDIT,
        args=intent.args,
        description=description_line(f"{intent.verb} {display_path(environment, intent.path)}"),
        digest=call_digest(
            intent.tool,
            intent.args,
            environment.workspace,
            accesses,
            {intent.path: expected},
            {"result": result},
        ),
        accesses=accesses,
        preview=card,
        plan=plan,
        replaces=replaces,
    )


def _before(environment: ToolEnvironment, intent: ChangeRequest) -> Before:
    seen = files.snapshot(intent.path, links=intent.links)
    if seen.absent:
        return Before(seen)
    if seen.link is not None:
        return Before(seen, reason=f"a link to {seen.link}")
    if seen.data is None:
        return Before(seen, reason=f"larger than {files.FILE_BYTES_MAX} bytes")
    charset = charset_for(environment.workspace, intent.path)
    try:
        return Before(seen, decode(seen.data, charset), charset=charset)
    except ToolError as error:
        return Before(seen, reason=str(error), charset=charset)


def _require_true_name(environment: ToolEnvironment, path: str, before: Before) -> None:
    """Make no second file beside one that people would call the same, and say how it is called."""
    found = lookalike(path) if before.snapshot.absent else None
    if found is not None and not environment.hidden(found):
        raise ToolError(f"{quote_path(path)}: {true_name(found)}")


def _difference(name: str, before: Before, after: Text | None) -> tuple[Preview, str]:
    """Return card and result. What goes and is no text is described; what comes is shown."""
    was = before.snapshot
    if after is None and before.text is None:
        size = "" if was.link is not None else f"{was.size_bytes} bytes "
        text = visible(f"{name}: {size}removed ({before.reason})")
        return Preview("text", text), text
    notes: list[str] = []
    if before.reason:
        notes.append(f"in place of {was.size_bytes} bytes: {before.reason}")
    elif before.text and after and before.text.encoding != after.encoding:
        notes.append(f"stored as {after.encoding.shown}; was {before.text.encoding.shown}")
    if was.other_names:
        notes.append(f"other names of this file ({was.other_names}) keep what they have")
    old = before.text and before.text.text
    new = after and after.text
    return diffs.preview(name, old, new, notes), diffs.result(name, old, new, notes)


def _require_workspace(environment: ToolEnvironment, path: str) -> None:
    """Make no workspace anew that was removed, as a folder in it is made."""
    root = environment.workspace
    if inside(root, path) and not os.path.isdir(root):
        raise ToolError(f"the workspace {quote_path(root)} is gone")


async def apply_change(environment: ToolEnvironment, prepared: Prepared) -> ToolOutput:
    """Make the prepared change, if the file is still what was shown.

    The thread is waited for even when cancelled: past the rename the change is reported.

    Raises:
        ToolError: changed since it was shown, or refused; nothing was done.
    """
    plan = prepared.plan
    if isinstance(plan, ImpossibleChange):
        raise ToolError(plan.reason)
    assert isinstance(plan, FileChange)
    return await to_thread.run_sync(_carried_out, environment, plan)


def _carried_out(environment: ToolEnvironment, plan: FileChange) -> ToolOutput:
    _require_workspace(environment, plan.path)
    digest = ABSENT
    if plan.after is None:
        files.remove(plan.path, plan.expected)
    else:
        files.replace(plan.path, plan.after, plan.expected)
        digest = content_digest(plan.after)
    content = FileContent(plan.path, digest, made_from=plan.expected)
    return ToolOutput(Status.SUCCESS, plan.diff, "diff", {"file_path": plan.path}, content)
