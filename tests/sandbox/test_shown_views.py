"""A call runs in exactly the sandbox that was shown, or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from sandbox.trying import SHELL

from wcore.cli.sandbox import sandbox_of
from wcore.policy.protected import Places
from wcore.policy.rules.policy_file import PolicyFile
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level
from wcore.policy_files.snapshot import PolicySnapshot, Rules
from wcore.sandbox.masks import SandboxError
from wcore.sandbox.sandbox import Sandbox
from wcore.supervisor.client import Held, Program
from wcore.tools.builtin.bash import Bash
from wcore.tools.tool import ToolEnvironment
from wcore.vocabulary import Prepared, SandboxView

MANY = [f"{number}.example" for number in range(4)]


async def started(program: Program) -> Held:
    raise AssertionError(f"{program} was started")


@pytest.fixture
def sandbox_with(tmp_path: Path) -> Callable[[list[str]], Sandbox]:
    home = Path(os.path.realpath(tmp_path))
    (home / "ws").mkdir()
    places = Places(str(home / "ws"), str(home), (str(home / "own"),))

    def made(hosts: list[str]) -> Sandbox:
        def rules() -> Rules:
            file = PolicyFile(Level.USER, "/policy.toml", hosts=tuple(hosts))
            return Rules.of(PolicySnapshot(PolicySet([file])))

        environ = {"HOME": str(home), "PATH": os.defpath}
        return sandbox_of(places, rules, environ, started)

    return made


async def test_a_host_that_is_named_no_longer_ends_the_call(
    sandbox_with: Callable[[list[str]], Sandbox],
) -> None:
    hosts = ["a.example", "b.example", "c.example"]
    sandbox = sandbox_with(hosts)
    shown = sandbox.view()
    hosts.remove("b.example")
    program = Program((SHELL, "-c", "true"), "/", {}, (None, None, None))
    with pytest.raises(SandboxError, match=r"no longer names b\.example, .*: nothing was done"):
        async with sandbox.around(program, shown):
            pytest.fail("it may not begin")


async def test_a_host_that_is_new_is_not_reached_by_what_was_shown_before(
    sandbox_with: Callable[[list[str]], Sandbox],
) -> None:
    hosts = ["a.example"]
    shown = sandbox_with(hosts).view()
    hosts.append("b.example")
    assert shown == SandboxView("workspace", ("a.example",))


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ([], "Execute in the sandbox: ls"),
        (["a.example"], "Execute in the sandbox, with a.example: ls"),
        (MANY[:3], "Execute in the sandbox, with 0.example, 1.example, 2.example: ls"),
        (MANY, "Execute in the sandbox, with 4 hosts: ls"),
        (None, "Execute: ls"),
    ],
)
async def test_the_view_is_told_and_part_of_the_digest(
    sandbox_with: Callable[[list[str]], Sandbox], hosts: list[str] | None, words: str
) -> None:
    plain = ToolEnvironment("/ws", "/", {"PATH": os.defpath}, lambda _: False)

    async def prepared(sandbox: Sandbox | None) -> Prepared:
        tool = Bash.at(replace(plain, sandbox=sandbox))
        return await tool.prepare({"command": "ls"})

    found = await prepared(None if hosts is None else sandbox_with(hosts))
    assert found.description == words
    other = await prepared(sandbox_with([*(hosts or ()), "other.example"]))
    assert found.digest != other.digest
