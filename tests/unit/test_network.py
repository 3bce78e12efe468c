"""The way out: what keys can be sent, and what the environment may say of proxies and TLS."""

import ssl
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from hypothesis import given
from hypothesis import strategies as st

from wcore import network
from wcore.errors import Code, SettingError

AWAY, NEAR = "https://api.example.com/v1", "http://127.0.0.1:8000/v1"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
NAMES = (*PROXIES, "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD")

SetEnv = Callable[..., None]


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> SetEnv:
    """Set these variables, and none else of those that count."""

    def only(**variables: str) -> None:
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    only()
    return only


def problem(url: str = AWAY) -> str:
    """Return why no client for `url` is made; empty if one is."""
    try:
        network.client(url)
    except SettingError as error:
        return str(error)
    return ""


# --- keys -----------------------------------------------------------------------------------------


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1))
def test_a_key_of_visible_ascii_is_sent_as_it_is(key: str) -> None:
    assert network.usable_key({"B": key, "A": ""}, "A", "B", "C") == key
    assert network.usable_key({"B": key}, "A") is None


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6),
    st.characters(max_codepoint=32) | st.characters(min_codepoint=127) | st.just("\udc80"),
    st.text(min_size=6),
)
def test_another_is_told_by_name_and_place_and_by_nothing_else(
    before: str, odd: str, after: str
) -> None:
    with pytest.raises(SettingError) as refused:
        network.usable_key({"X_API_KEY": before + odd + after}, "X_API_KEY")
    told = str(refused.value)
    assert told.startswith(f"X_API_KEY is no key: its character {len(before) + 1} is ")
    frame = (
        "X_API_KEY is no key: its character 1 is a blank or the end of a line; set it again, in "
    )
    frame += (
        "the environment or by --keys-fd, without quotes, blanks or notes none of ASCII not visible"
    )
    assert set(told.split()) - {str(len(before) + 1)} <= set(frame.split()) | {"ASCII;", "visible;"}


# --- proxies and certificates ---------------------------------------------------------------------

NO_PROXIES = (
    *("socks://127.0.0.1:1080", "socks4://h:1", "ftp://h:1", "h:99999", "http://h:65536", "h:0"),
    *("http://h:-1", "http://", "http://:80", "h:x", "http://[::1", "http://%zz\x01:1", "://", "/"),
    *("http://secret:secret@h:99999", "http://\udc80:1"),
)


def test_what_is_no_proxy_is_named_whatever_variable_it_stands_in(environ: SetEnv) -> None:
    for at, value in enumerate(NO_PROXIES):
        name = PROXIES[at % len(PROXIES)]
        environ(**{name: value})
        told = problem()
        assert told == (
            f"{name}: no address of a proxy; write http://HOST:PORT or socks5://HOST:PORT"
        ), value
        assert not problem(NEAR), "what is never proxied asks no proxy"
        environ(**{name: value, "NO_PROXY": "a, *"})
        assert not problem(), "nor where none is to be used"


@pytest.mark.anyio
@pytest.mark.parametrize("scheme", ["socks5", "SOCKS5H"])
async def test_a_socks_proxy_is_gone_through(environ: SetEnv, scheme: str) -> None:
    wanted: list[bytes] = []

    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()  # 5, and which ways to log in: none is needed
            await stream.send(b"\x05\x00")
            wanted.append(await stream.receive())  # 5, connect, 0, by name, where
            await stream.send(b"\x05\x00\x00\x01" + bytes(6))
            await stream.receive()
            await stream.send(b"HTTP/1.1 204 No Content\r\n\r\n")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        environ(ALL_PROXY=f"{scheme}://127.0.0.1:{port}")
        async with network.client(url := "http://api.example.com/v1") as client:
            assert (await client.get(url)).status_code == 204
        tasks.cancel_scope.cancel()
    assert wanted == [b"\x05\x01\x00\x03\x0fapi.example.com\x00\x50"]


def test_it_is_an_error_of_the_settings_that_no_attempt_mends(environ: SetEnv) -> None:
    environ(ALL_PROXY="http://me:secret@h:x")
    with pytest.raises(SettingError) as refused:
        network.client(AWAY)
    error = refused.value
    assert (error.code, error.retryable, error.__cause__) == (Code.CONFIG, False, None)


def test_real_proxies_are_taken(environ: SetEnv) -> None:
    for value in ("h:3128", "http://h:3128", "https://h", "HTTP://h:1", "http://me:pass@h:1/"):
        for name in PROXIES:
            environ(**{name: value, "NO_PROXY": "a.b, 10.0.0.0/8, ::1, [x, h:99999"})
            assert not problem(), (name, value)


def test_a_list_without_proxies_that_cannot_be_read_is_named(environ: SetEnv) -> None:
    environ(HTTP_PROXY="http://h:1", NO_PROXY="#\udc80")
    assert problem().startswith("NO_PROXY: no HTTP client can be made of it")


def test_certificates_that_are_not_there_are_named(environ: SetEnv, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "words").write_text("no certificate")
    for name, place in (
        ("SSL_CERT_FILE", "missing"),
        ("SSL_CERT_FILE", "empty"),
        ("SSL_CERT_FILE", "words"),
        ("SSL_CERT_FILE", "."),
        ("SSL_CERT_DIR", "missing"),
        ("SSL_CERT_DIR", "empty"),
    ):
        environ(**{name: str(tmp_path / place)})
        assert problem().startswith(f"{name}: no certificates can be read there"), (name, place)
        assert problem("https://localhost/v1").startswith(f"{name}: "), (name, place)
        assert not problem(NEAR), "no certificate is looked at on this machine without TLS"


def test_certificates_that_are_there_are_used(environ: SetEnv, tmp_path: Path) -> None:
    authorities = ssl.get_default_verify_paths().openssl_cafile
    if Path(authorities).is_file():
        environ(SSL_CERT_FILE=authorities, SSL_CERT_DIR=str(tmp_path / "missing"))
        assert not problem()
    environ(SSL_CERT_DIR=f"{tmp_path / 'missing'}:{tmp_path}")
    assert not problem()
