import pytest
from tables import rows

from wcore.errors import ConfigError, SettingError
from wcore.models.http.client import HttpClient
from wcore.models.http.endpoint import Endpoint, endpoint


def place(url: str) -> Endpoint:
    return endpoint("p", url, {"P_API_KEY": "secret-key"}, ("P_API_KEY",))


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        (" http://h:1 ", "http://h:1/v1"),
        ("https://openrouter.ai/api", "https://openrouter.ai/api/v1"),
        ("https://h/v1beta/openai", "https://h/v1beta/openai"),
        ("https://h/api/paas/v4", "https://h/api/paas/v4"),
        ("https://h/v1/chat/completions", "https://h/v1"),
        ("https://h/v1/messages", "https://h/v1"),
        ("https://h/vault", "https://h/vault/v1"),
    ],
)
def test_a_base_url_is_taken_with_or_without_its_version(given: str, url: str) -> None:
    assert place(given).url == url


@pytest.mark.parametrize("url", ["", "ftp://h", "h:80", "http://", "http://h:x", "http://[::1"])
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="begins with http"):
        place(url)


@pytest.mark.parametrize("url", ["https://me:secret@h", "https://h?key=secret", "https://h#x"])
def test_secrets_in_the_url_are_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(ConfigError, match="no place") as caught:
        place(url)
    assert "secret" not in str(caught.value)


@rows(
    ("host", "loops"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("localhost", True), ("LOCALHOST", True),
     ("[::1]", True), ("a.localhost", True), ("localhost.", True), ("127.1", True),
     ("[0:0:0:0:0:0:0:1]", True), ("[::ffff:127.0.0.1]", True), ("0.0.0.0", True), ("127", False),
     ("[::2]", False), ("128.0.0.1", False), ("127.1.evil.com", False),
     ("127.0.0.1.evil.com", False), ("10.0.0.1", False),
     ("localhost.evil.com", False), ("notlocalhost", False)],
)  # fmt: skip
def test_loopback_is_told_from_what_looks_like_it(host: str, loops: bool) -> None:
    assert place(f"http://{host}:8000").is_loopback is loops


@pytest.mark.anyio
async def test_an_address_that_nothing_can_be_sent_to_is_one_of_the_settings() -> None:
    for host in ("\u202e.com", "a\x01b", "\udc80", "1.2.3.999"):
        client = HttpClient(place(f"http://{host}"))
        with pytest.raises(SettingError, match=r"^--base-url: p cannot be asked"):
            async with client.post("/x", {}, b""):
                raise AssertionError(ascii(host))


def test_the_key_is_not_shown() -> None:
    assert "secret-key" not in repr(place("http://h"))
