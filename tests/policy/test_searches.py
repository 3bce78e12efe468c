"""What Read may not read no search shows, whatever folder, file or link the search names."""

from collections.abc import Callable
from pathlib import Path

import pytest
from policy.test_conversations import write_user_policy
from talking import Conversation, call

Talk = Callable[..., Conversation]

SEARCHES = [
    ("Grep", {"pattern": "CANARY"}),
    ("Grep", {"pattern": "CANARY", "path": "secret.d"}),
    ("Grep", {"pattern": "CANARY", "path": "secret.d/sub"}),
    ("Grep", {"pattern": "CANARY", "path": "secret.d/f.txt"}),
    ("Grep", {"pattern": "CANARY", "path": "link"}),
    ("Grep", {"pattern": "CANARY", "path": "link/f.txt"}),
    ("Glob", {"pattern": "**/*"}),
    ("Glob", {"pattern": "*", "path": "secret.d"}),
    ("Glob", {"pattern": "secret.d/**"}),
    ("Glob", {"pattern": "*", "path": "link/sub"}),
    ("LS", {"path": "secret.d"}),
    ("LS", {"path": "link"}),
]


@pytest.fixture
def secret(workspace: Path) -> Path:
    for name in ("secret.d", "secret.d/sub"):
        (workspace / name).mkdir()
        (workspace / name / "f.txt").write_text("CANARY\n")
    (workspace / "link").symlink_to("secret.d")
    (workspace / "open.txt").write_text("CANARY in the open\n")
    return workspace / "secret.d"


async def shown(talk: Talk, *flags: str) -> str:
    """Return what all searches show; every card is denied."""
    calls: list[object] = [call(tool, f"c{at}", **args) for at, (tool, args) in enumerate(SEARCHES)]
    async with talk(calls, [], flags=flags) as host:
        await host.ready()
        await host.message()
        while (event := await host.next())["type"] != "stream_end":
            if event["type"] == "tool_request":
                await host.deny(event["call_id"])
        return "".join(event["output"] for event in host.of("tool_result"))


@pytest.mark.parametrize(
    "rule",
    [
        'deny = ["Read(secret.d/**)"]',
        'deny = ["Read({secret}/**)"]',
        'deny = ["Read(**/secret.d/**)"]',
        'deny = ["Read(**/f.txt)"]',
        'deny = ["Read(SECRET.D/**)"]',
        '[[rule]]\nmatch = "Read(secret.d/**)"\ndo = "deny"\nalways = true',
        '[[rule]]\nmatch = "Read(secret.d/**)"\ndo = "deny"',
        '[[rule]]\nmatch = "Read(**/f.txt)"\ndo = "deny"',
    ],
)
async def test_what_read_is_denied_no_search_shows(
    talk: Talk, tmp_path: Path, secret: Path, rule: str
) -> None:
    write_user_policy(tmp_path, rule.replace("{secret}", str(secret)))
    output = await shown(talk, "--force")
    assert "CANARY in the open" in output
    assert "f.txt" not in output
    assert "CANARY\n" not in output


async def test_what_every_reading_is_denied_shows_nothing(
    talk: Talk, tmp_path: Path, secret: Path
) -> None:
    write_user_policy(tmp_path, 'deny = ["Read"]')
    assert "CANARY" not in await shown(talk, "--force")


async def test_what_read_asks_about_is_shown_by_no_search_that_was_not_approved(
    talk: Talk, tmp_path: Path, secret: Path
) -> None:
    write_user_policy(tmp_path, '[[rule]]\nmatch = "Read(secret.d/**)"\ndo = "ask"\nalways = true')
    output = await shown(talk, "--mode", "read_only")
    assert "CANARY in the open" in output
    assert "f.txt" not in output
    assert "CANARY\n" not in output
