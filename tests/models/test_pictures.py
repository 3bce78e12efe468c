"""Files of a message and images of tools: what the model is shown of them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from models.conftest import Engine
from models.dialects import CHAT, Call, Dialect, Reply, say
from models.serving import Asked, Provider, Whole

from wcore.models.attachments import attach

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
OK = Reply(text=("ok",))


def images(asked: Asked) -> list[str]:
    """Return the base64 of every image in a request, wherever it stands."""
    found: list[str] = []

    def look(fields: dict[str, Any]) -> dict[str, Any]:
        if fields.get("type") == "image":
            found.append(fields["source"]["data"])
        elif fields.get("type") == "image_url":
            found.append(fields["image_url"]["url"].partition("base64,")[2])
        return fields

    json.loads(asked.raw, object_hook=look)
    return found


async def test_images_are_shown_and_other_files_are_named(
    engine: Engine, provider: Provider, dialect: Dialect, workspace: Path
) -> None:
    (workspace / "a.png").write_bytes(PNG)
    (workspace / "big.png").write_bytes(PNG + bytes(5 * 1024 * 1024))
    (workspace / "notes.txt").write_text("secret words")
    provider.will_say(say(dialect, OK), say(dialect, OK))
    files = ["a.png", str(workspace / "big.png"), "notes.txt", "gone.txt", "."]
    async with engine(dialect) as host:
        await host.ready()
        await host.say(type="message", msg_id="m1", content="look", files=files)
        await host.hear("stream_end")
        await host.turn(msg_id="m2")
    assert images(provider.asked[0]) == [base64.b64encode(PNG).decode()]
    assert images(provider.asked[1]) == images(provider.asked[0])
    raw = provider.asked[0].raw.decode()
    assert "secret words" not in raw
    for note in (
        "[Attached files]", "- a.png (image 1)", "big.png (image not shown: larger than",
        "- notes.txt\\n", "- gone.txt (cannot be read: no such file)", "- . (folder)",
    ):  # fmt: skip
        assert note in raw


@pytest.mark.parametrize("name", ["a.png", "A.JPG", "a.heic", "a.tiff", "a.txt", "png"])
@pytest.mark.parametrize(
    "content",
    [PNG, b"\0\0\0\x20ftypheic" + bytes(50), b"II*\0", b""],
    ids=["png", "heic", "tiff", "empty"],
)
def test_a_file_that_is_no_picture_but_is_named_like_one_says_why_it_is_not_shown(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    if content is PNG:
        said = " (image 1)"
    elif "." in name and name != "a.txt":
        said = " (image not shown: it is no PNG, JPEG, GIF or WebP)"
    else:
        said = ""
    assert attach([name], str(tmp_path)).note == f"[Attached files]\n- {name}{said}"


async def test_an_image_that_a_tool_read_is_shown(
    engine: Engine, provider: Provider, dialect: Dialect, workspace: Path
) -> None:
    (workspace / "a.png").write_bytes(PNG)
    (workspace / "b.txt").write_text("text\n")
    calls = [
        Call(f"c{n}", "Read", (json.dumps({"file_path": path}),))
        for n, path in enumerate(("a.png", "b.txt"))
    ]
    provider.will_say(say(dialect, Reply(calls=calls)), say(dialect, OK))
    async with engine(dialect, "--mode", "read_only") as host:
        await host.ready()
        await host.turn()
    assert images(provider.asked[1]) == [base64.b64encode(PNG).decode()]
    if dialect is CHAT:
        roles = [message["role"] for message in provider.asked[1].body["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "tool", "user"]


async def test_a_model_that_sees_no_images_goes_on_without_them(
    engine: Engine, provider: Provider, dialect: Dialect, workspace: Path
) -> None:
    (workspace / "a.png").write_bytes(PNG)
    refusal = Whole(400, {"error": {"message": "this model does not support image input"}})
    provider.will_say(refusal, say(dialect, OK), say(dialect, OK))
    async with engine(dialect) as host:
        await host.ready()
        await host.say(type="message", msg_id="m1", content="look", files=["a.png"])
        await host.hear("info", message="this model cannot see images; going on without them")
        await host.hear("stream_end", finish_reason="stop")
        await host.turn(msg_id="m2")
    assert [len(images(asked)) for asked in provider.asked] == [1, 0, 0]
