"""Keys as people really set them: whatever they are, nobody is told them, in any spelling."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from models.conftest import Engine
from models.dialects import ANTHROPIC, CHAT, Dialect, Reply, say
from models.serving import Provider, Whole
from talking import Event

pytestmark = pytest.mark.anyio

KEY = "sk-test-0123456789abcdef+/=%\"'\\&<x"  # what differs once it is quoted or escaped
VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
DOORS = ("environment", "--keys-fd")

# What may be around a key without being a part of it.
AROUND = ("\n", "\r\n", "\r", " ", "\t", "\x0b", "\x0c", "\x85", "\u00a0", "\u2028", "\u3000")
# What no key has inside; `tests/unit/test_network.py` has all of it.
WITHIN = ("\n", "\0", "\x1b[31m", "\u00a0", "\u2013", "\u0430", "\U0001f511", " # of work")


def spellings(key: str) -> set[str]:
    """Return how a library or a provider may quote `key` in a text of its own."""
    raw = key.encode(errors="surrogateescape")
    return {
        key,
        repr(key)[1:-1],
        repr(raw)[2:-1],
        repr(f"{key}'\"")[1:-4],
        ascii(key)[1:-1],
        json.dumps(key)[1:-1],
        json.dumps(key, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(key))[3:-3],
        json.dumps(key)[1:-1].replace("/", "\\/"),
        quote(raw, safe=""),
        quote(raw),
        quote(raw, safe="").lower(),
        repr(repr(raw))[1:-1][2:-1],
    }


def pieces(key: str) -> set[str]:
    """Return the long parts of `key` that stand between odd characters: they are secret too."""
    parts = "".join(c if c.isascii() and c.isalnum() else " " for c in key).split()
    return {part for part in parts if len(part) >= 12}


async def told(
    engine: Engine,
    provider: Provider,
    dialect: Dialect,
    given: str,
    door: str,
    folder: Path,
) -> tuple[list[Event], str]:
    """Hold a turn with a key; return its events, and all that came to light anywhere."""
    name = VARIABLES[dialect.provider]
    flags: list[str] = ["--verbose", "--store", str(folder / "wcore.db")]
    env: dict[str, str] = {}
    fd = -1
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as log:
        if door == "environment":
            env[name] = given
        else:
            file.write(json.dumps({name: given}).encode())
            file.seek(0)
            fd = os.dup(file.fileno())
            flags += ["--keys-fd", str(fd)]
        host = engine(dialect, *flags, env={**dict.fromkeys(VARIABLES.values(), ""), **env})
        host.log = log
        host.pass_fds = (fd,) if fd >= 0 else ()
        async with host:
            if fd >= 0:
                os.close(fd)
            await host.ready()
            turn = await host.turn()
        log.seek(0)
        logged = log.read().decode(errors="replace")
    kept = "".join(
        (folder / name).read_bytes().decode(errors="replace")
        for name in os.listdir(folder)
        if name.startswith("wcore.db")
    )
    assert "traceback" not in logged.lower(), logged
    return turn, json.dumps(host.heard, ensure_ascii=False) + json.dumps(host.heard) + logged + kept


def problem(turn: list[Event]) -> dict[str, Any]:
    (error,) = [event["error"] for event in turn if event["type"] == "error"]
    return error


@pytest.mark.parametrize("door", DOORS)
async def test_white_space_around_a_key_is_no_part_of_it(
    engine: Engine, provider: Provider, dialect: Dialect, door: str, tmp_path: Path
) -> None:
    around = "".join(AROUND)
    provider.will_say(say(dialect, Reply(text=("ok",))))
    turn, seen = await told(engine, provider, dialect, f"{around}{KEY}{around}", door, tmp_path)
    assert turn[-1]["finish_reason"] == "stop", turn
    sent = provider.asked[0].headers
    assert (sent.get("x-api-key") or sent["authorization"].removeprefix("Bearer ")) == KEY
    assert not [spelling for spelling in spellings(KEY) if spelling in seen]


@pytest.mark.parametrize("at", range(len(WITHIN)), ids=[ascii(each)[1:-1] for each in WITHIN])
async def test_what_no_header_can_carry_is_told_by_name_and_place(
    engine: Engine, provider: Provider, at: int, tmp_path: Path
) -> None:
    odd, dialect = WITHIN[at], (CHAT, ANTHROPIC)[at % 2]
    door = "--keys-fd" if "\0" in odd else DOORS[at // 2 % 2]
    key = f"sk-test-0123456789abcdef{odd}0123456789ABCDEF"
    turn, seen = await told(engine, provider, dialect, key, door, tmp_path)
    error = problem(turn)
    assert (error["code"], error["retryable"]) == ("config_error", False), error
    assert VARIABLES[dialect.provider] in error["message"]
    assert "character 25 " in error["message"]
    assert not [each for each in (*spellings(key), *pieces(key)) if each in seen]
    assert not provider.asked, "it is not tried"


@pytest.mark.parametrize("status", [400, 401, 403, 418])
async def test_a_provider_that_quotes_the_key_is_quoted_without_it(
    engine: Engine, provider: Provider, dialect: Dialect, status: int, tmp_path: Path
) -> None:
    names = sorted(spellings(KEY))
    words = "no such key: " + " and ".join(names)
    for padding in (0, 270):  # so that a cut goes through it
        provider.will_say(Whole(status, {"error": {"message": "x" * padding + words}}))
        folder = tmp_path / f"store-{padding}"
        folder.mkdir()
        turn, seen = await told(engine, provider, dialect, KEY, DOORS[status % 2], folder)
        assert "no such key" in problem(turn)["message"]
        assert not [each for each in (*names, *pieces(KEY)) if each in seen], problem(turn)


async def test_a_key_as_short_as_a_word_is_not_quoted_at_all(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    env = {**dict.fromkeys(VARIABLES.values(), "qwzx"), "NO_PROXY": "*"}
    async with engine(dialect, env=env) as host:
        await host.ready()
        for number, status in enumerate((401, 403)):
            provider.will_say(Whole(status, {"error": {"message": "no such key: qwzx"}}))
            assert problem(await host.turn(msg_id=f"m{number}"))["code"] == "auth_invalid"
    assert "qwzx" not in json.dumps(host.heard)
