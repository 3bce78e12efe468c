"""What can be agreed to of the network, as it is written."""

import pytest
from tables import rows

from wcore.hosts import agreed, one_host


@rows(
    ("text", "found"),
    [
        ("pypi.org", ("pypi.org", (80, 443))),
        ("PyPI.org", ("pypi.org", (80, 443))),
        ("localhost:3000", ("localhost", (3000,))),
        ("*.example.org", (".example.org", (80, 443))),
        ("*.example.org:8443", (".example.org", (8443,))),
        ("*", ("", (80, 443))),
        ("*:22", ("", (22,))),
        ("localhost:*", ("localhost", ())),
        ("10.1.0.0/16", ("10.1.0.0/16", (80, 443))),
        ("10.1.0.0/16:5432", ("10.1.0.0/16", (5432,))),
        ("10.1.0.0/16:*", ("10.1.0.0/16", ())),
        ("192.168.1.2", ("192.168.1.2/32", (80, 443))),
        ("::1", ("::1/128", (80, 443))),
        ("[::1]:22", ("::1/128", (22,))),
        ("fd00::/8", ("fd00::/8", (80, 443))),
        ("[fd00::/8]:*", ("fd00::/8", ())),
        ("xn--bcher-kva.example", ("xn--bcher-kva.example", (80, 443))),
    ],
)
def test_what_is_written_is_understood(text: str, found: tuple[str, tuple[int, ...]]) -> None:
    assert agreed(text) == found


@rows(
    "text",
    [
        *("", " ", "a b", "https://pypi.org", "pypi.org/simple", "a@b", "pypi.org:", "pypi.org:0"),
        *("pypi.org:65536", "pypi.org:http", "*pypi.org", "a.*", "**", ".pypi.org", "-a.org"),
        *("bücher.example", "pypi.org\n", "10.1.2.3/16", "[pypi.org]", "a" * 300, "pypi.org."),
        *("pypi.org:**", "pypi.org:22\n", ":443", "10.1.0.0/16:99999"),
    ],
)
def test_what_is_no_host_is_an_error_that_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="names no host: write"):
        agreed(text)


@rows(
    "text",
    [
        *(
            "pypi.org",
            "localhost",
            "a.b-c.example:8443",
            "1password.com",
            "3.pool.ntp.org",
            "0x.st",
        ),
        *("x1.2y", "a.0xg", "_acme.example.org", "xn--bcher-kva.example"),
    ],
)
def test_a_host_is_asked_for_by_its_name(text: str) -> None:
    assert one_host(text.upper()) == text


@rows(
    "text",
    [
        *("*", "*.example.org", "10.1.0.0/16", "10.1.0.1", "::1", "[::1]:80", "a.b:*", "a b", ""),
        *("127.1", "2130706433", "0x7f000001", "0177.0.0.1", "a.0x7f", "a.1", "0x"),
        "\u212a.example",  # the sign of Kelvin, a `k` in small letters
    ],
)
def test_what_is_no_name_of_one_host_cannot_be_asked_for(text: str) -> None:
    with pytest.raises(ValueError, match=r"by name, such as|names no host"):
        one_host(text)
