"""What can be agreed to of the network, as it is written."""

import pytest
from tables import rows

from wcore.hosts import agreed


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
