"""What a definition holds, hides, and is told apart by."""

import pytest

from wcore.tools.mcp.server_config import ServerConfig, ServerConfigError, parse_server_config


def program(*args: str, **env: str) -> ServerConfig:
    return parse_server_config("s", "stdio", command="run", args=args, env=env, cwd="/w")


@pytest.mark.parametrize(
    ("definition", "secrets"),
    [
        (program("--api-key", "AAA", "--verbose", "yes"), {"AAA"}),
        (program("--token=BBB", "key.txt"), {"BBB"}),
        (program(GITHUB_TOKEN="CCC", LEVEL="info"), {"CCC"}),
        (
            parse_server_config("s", "sse", url="https://u:DDD@h/x?api_key=EEE&page=1", headers={}),
            {"DDD", "EEE"},
        ),
        (
            parse_server_config(
                "s", "sse", url="https://h", headers={"Authorization": "Bearer FFF"}
            ),
            {"Bearer FFF", "FFF"},
        ),
        (
            parse_server_config("s", "sse", url="https://h", headers={"Accept": "text/x"}),
            set[str](),
        ),
    ],
)
def test_secrets_are_found(definition: ServerConfig, secrets: set[str]) -> None:
    assert {secret for secret in definition.secrets() if secret} == secrets


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (program("--token", "a"), program("--token", "b"), True),
        (program("--token=a"), program("--token=b"), True),
        (program(MY_KEY="a"), program(MY_KEY="b"), True),
        (program(MY_KEY="a"), program(), False),
        (program("a"), program("b"), False),
        (program(LEVEL="a"), program(LEVEL="b"), False),
        (
            program("a"),
            parse_server_config("s", "stdio", command="run", args=("a",), cwd="/x"),
            False,
        ),
        (
            program("a"),
            parse_server_config("s", "stdio", command="other", args=("a",), cwd="/w"),
            False,
        ),
        (
            parse_server_config("s", "sse", url="https://h/x?token=a", headers={"X-A": "1"}),
            parse_server_config("s", "sse", url="https://h/x?token=b", headers={"x-a": "2"}),
            True,
        ),
        (
            parse_server_config("s", "sse", url="https://h/x"),
            parse_server_config("s", "streamable_http", url="https://h/x"),
            False,
        ),
        (
            parse_server_config("s", "sse", url="https://h/x"),
            parse_server_config("s", "sse", url="http://h/x"),
            False,
        ),
    ],
)
def test_a_grant_is_for_one_definition_whatever_its_secrets(
    one: ServerConfig, other: ServerConfig, *, same: bool
) -> None:
    assert (one.digest == other.digest) is same


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "http://", "https://a b", "https://é", "http://[", "https://x:99999"]
)
def test_an_address_has_to_be_one(url: str) -> None:
    with pytest.raises(ServerConfigError):
        parse_server_config("s", "sse", url=url)


@pytest.mark.parametrize("headers", [{"a b": "c"}, {"a": "b\r\nc: d"}, {"": "x"}, {"a": "é"}])
def test_a_header_has_to_be_one(headers: dict[str, str]) -> None:
    with pytest.raises(ServerConfigError):
        parse_server_config("s", "sse", url="https://x", headers=headers)
