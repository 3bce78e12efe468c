"""Keys: by a descriptor or from the environment, never told in a message."""

import json
import os
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talking import ROOT

from wcore.cli import keys
from wcore.cli.options import read
from wcore.errors import UsageError
from wcore.hardening import take_keys

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def told(data: bytes) -> int:
    """Return a descriptor from which `data` is read, and then the end."""
    out, into = os.pipe()
    os.write(into, data)
    os.close(into)
    return out


def test_keys_of_providers_are_taken_out_and_nothing_else() -> None:
    environ = {
        "OPENAI_API_KEY": "a",
        "ANTHROPIC_AUTH_TOKEN": "b",
        "AWS_SECRET_ACCESS_KEY": "c",
        "PATH": "/bin",
        "API_KEY_FILE": "kept",
    }
    taken = take_keys(environ)
    assert sorted(taken) == ["ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY"]
    assert environ == {"PATH": "/bin", "API_KEY_FILE": "kept"}


def test_what_the_descriptor_says_wins() -> None:
    environ = {"OPENAI_API_KEY": "old", "GROQ_API_KEY": "b"}
    fd = told(b'{"OPENAI_API_KEY": "new"}')
    assert keys.taken(fd, environ) == {"OPENAI_API_KEY": "new", "GROQ_API_KEY": "b"}
    assert environ == {}
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


@given(JSON)
def test_only_an_object_of_texts_will_do(value: object) -> None:
    data = json.dumps(value)
    given = cast("dict[str, object]", value) if isinstance(value, dict) else {"": None}
    if all(isinstance(text, str) for text in given.values()):
        trimmed = {name: str(text).strip() for name, text in given.items()}
        expected = {name: key for name, key in trimmed.items() if key}
        assert keys.taken(told(data.encode()), {}) == expected
        return
    with pytest.raises(UsageError) as refused:
        keys.taken(told(data.encode()), {})
    assert str(refused.value).endswith("not a JSON object of names and texts")


def test_blanks_around_a_key_are_no_part_of_it_and_blanks_alone_are_no_key() -> None:
    for blank in (" ", "\n", "\r\n", "\t", "\v", "\f", "\x85", "\u00a0", "\u2028", "\u3000"):
        environ = {"A_API_KEY": f"{blank}a b{blank}", "B_API_KEY": blank, "C_API_KEY": "c"}
        fd = told(json.dumps({"D_API_KEY": f"d{blank}", "C_API_KEY": blank}).encode())
        assert keys.taken(fd, environ) == {"A_API_KEY": "a b", "D_API_KEY": "d"}, ascii(blank)


@pytest.mark.parametrize("data", [b"", b"sk-live-1", b'{"A": "sk-live-1"', b"\xff", b"[" * 5000])
def test_what_came_is_never_told(data: bytes) -> None:
    with pytest.raises(UsageError) as refused:
        keys.taken(told(data), {})
    assert "sk-live" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b" " * (keys.KEYS_BYTES_MAX + 1))
    fd = os.open(tmp_path / "keys", os.O_RDONLY)
    with pytest.raises(UsageError, match="more than"):
        keys.taken(fd, {})


def test_an_end_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEYS_S_MAX", 0.1)
    out, into = os.pipe()
    os.write(into, b'{"A": "b"}')
    with pytest.raises(UsageError, match="no end of it"):
        keys.taken(out, {})
    os.close(into)


@pytest.mark.parametrize("given", ["-1", "0", "2", "x", "²", "99999999999", "3.5", ""])
def test_it_must_be_a_descriptor_of_its_own(given: str) -> None:
    with pytest.raises(UsageError, match="descriptor above 2"):
        read([f"--keys-fd={given}"], {})


def test_a_descriptor_that_is_not_open_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="Bad file descriptor"):
        keys.taken(999, {})


def test_hosts_have_the_same_words_for_it() -> None:
    theirs = ROOT / "hosts" / "python" / "wcore_host" / "hardening.py"
    assert theirs.read_text() == (ROOT / "wcore" / "hardening.py").read_text()
    typescript = (ROOT / "hosts" / "typescript" / "src" / "keys.ts").read_text()
    from wcore.hardening import KEY_NAMES, KEY_SUFFIXES

    assert all(f'"{word}"' in typescript for word in (*KEY_NAMES, *KEY_SUFFIXES))
