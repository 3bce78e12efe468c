"""What an example conversation is made of, how it is held, and where its page goes."""

import inspect
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from talking import write_script

from spec.recording import Recorded, Transcript
from spec.requirements import SPEC

FOLDER: Final = SPEC / "examples"
Play = Callable[[Recorded], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """One conversation: the replies of the model, the flags, the files, and what the host does."""

    name: str
    about: str
    replies: tuple[list[object], ...]
    play: Play
    flags: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    whole: bool = False  #: whether `ready` is shown with all its capabilities


SCENES: Final[dict[str, Scene]] = {}


def scene(
    *replies: list[object],
    flags: tuple[str, ...] = (),
    files: dict[str, str] | None = None,
    whole: bool = False,
) -> Callable[[Play], Play]:
    """Make a scene of a function; its docstring is the title and the text of the page."""

    def make(play: Play) -> Play:
        name = play.__name__.replace("_", "-")
        title, _, about = inspect.cleandoc(play.__doc__ or "").partition("\n\n")
        text = " ".join(about.split())
        given = tuple((files or {}).items())
        SCENES[name] = Scene(title.rstrip("."), text, replies, play, flags, given, whole)
        return play

    return make


async def record(made: Scene, folder: Path) -> str:
    """Play a scene with a real engine; return its page."""
    workspace = folder / "project"
    workspace.mkdir()
    for name, content in made.files:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    script = write_script(folder, made.replies)
    flags = ["--model", f"script:{script}", *made.flags]
    transcript = Transcript(workspace, whole=made.whole)
    if made.flags:
        transcript.note(f"Started with `{' '.join(made.flags)}`.")
    async with Recorded(transcript, flags, folder / "home") as host:
        await host.ready()
        await made.play(host)
    return transcript.as_markdown(made.name, made.about)


def write() -> None:
    """Write all pages; those of scenes that are gone go."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        if old.stem not in {*SCENES, "README"}:
            old.unlink()
    for name, made in SCENES.items():
        with tempfile.TemporaryDirectory() as folder:
            (FOLDER / f"{name}.md").write_text(anyio.run(record, made, Path(folder)))
