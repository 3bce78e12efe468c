"""A call runs in exactly the sandbox that was shown, or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sandbox.trying import SHELL

from wcore.cli.sandbox import are_fixed, sandbox_of
from wcore.policy.protected import Places
from wcore.policy.rules.policy_file import PolicyFile
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level
from wcore.policy_files.snapshot import PolicySnapshot, Rules
from wcore.sandbox.masks import SandboxError
from wcore.sandbox.sandbox import Agreement, Sandbox
from wcore.supervisor.client import Held, Program
from wcore.tools.builtin.bash import Bash
from wcore.tools.tool import ToolEnvironment
from wcore.views import SandboxView
from wcore.vocabulary import Prepared

MANY = [f"{number}.example" for number in range(6)]


async def started(program: Program) -> Held:
    raise AssertionError(f"{program} was started")


@pytest.fixture
def sandbox_with(tmp_path: Path) -> Callable[..., Sandbox]:
    home = Path(os.path.realpath(tmp_path))
    (home / "ws").mkdir()
    places = Places(str(home / "ws"), str(home), (str(home / "own"),))

    def made(hosts: list[str], *, fixed: bool = False) -> Sandbox:
        environ = {"HOME": str(home), "PATH": os.defpath}
        agreement = Agreement(lambda: hosts, lambda: fixed)
        return sandbox_of(places, Rules, environ, started, agreement)

    return made


async def test_a_host_that_is_named_no_longer_ends_the_call(
    sandbox_with: Callable[..., Sandbox],
) -> None:
    hosts = ["a.example", "b.example", "c.example"]
    sandbox = sandbox_with(hosts)
    shown = sandbox.view()
    hosts.remove("b.example")
    program = Program((SHELL, "-c", "true"), "/", {}, (None, None, None))
    with pytest.raises(SandboxError, match=r"agrees any more to b\.example, .*: nothing was done"):
        async with sandbox.around(program, shown):
            pytest.fail("it may not begin")


async def test_a_host_that_is_new_is_not_reached_by_what_was_shown_before(
    sandbox_with: Callable[..., Sandbox],
) -> None:
    hosts = ["a.example"]
    shown = sandbox_with(hosts).view()
    hosts.append("b.example")
    assert shown == SandboxView("workspace", ("a.example",))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "Execute in the sandbox: ls"),
        ({"hosts": ["known.example"]}, "Execute in the sandbox: ls"),
        ({"hosts": ["a.example"]}, "Execute in the sandbox, reaching a.example: ls"),
        (
            {"hosts": ["a.example", "a.example", "known.example", "b.example:8443"]},
            "Execute in the sandbox, reaching a.example, b.example:8443: ls",
        ),
        ({"hosts": MANY}, "Execute in the sandbox, reaching 6 hosts: ls"),
        ({"outside_sandbox": True}, "Execute outside of the sandbox: ls"),
    ],
)
async def test_the_view_is_told_and_part_of_the_digest(
    sandbox_with: Callable[..., Sandbox], args: dict[str, Any], words: str
) -> None:
    plain = ToolEnvironment("/ws", "/", {"PATH": os.defpath}, lambda _: False)

    async def prepared(sandbox: Sandbox | None, args: dict[str, Any]) -> Prepared:
        tool = Bash.at(replace(plain, sandbox=sandbox))
        return await tool.prepare({"command": "ls", **args})

    known = sandbox_with(["known.example"])
    found = await prepared(known, args)
    assert found.description == words
    others = [await prepared(None, {}), await prepared(sandbox_with(["other.example"]), args)]
    if args.get("outside_sandbox"):
        others.pop()
    assert found.digest not in [each.digest for each in others]
    assert (await prepared(None, {})).description == "Execute: ls"


def test_an_administrator_who_names_hosts_says_all_of_them(
    sandbox_with: Callable[..., Sandbox],
) -> None:
    def rules(level: Level, hosts: tuple[str, ...] | None) -> Rules:
        file = PolicyFile(level, "/policy.toml", hosts=hosts)
        return Rules.of(PolicySnapshot(PolicySet([file])))

    assert are_fixed(rules(Level.MANAGED, ("a.example",)))
    assert are_fixed(rules(Level.MANAGED, ()))
    assert not are_fixed(rules(Level.MANAGED, None))
    assert not are_fixed(rules(Level.USER, ("a.example",)))
    sandbox = sandbox_with(["*.example"], fixed=True)
    assert sandbox.view(asked=["a.example"]).proposed == ()
    with pytest.raises(SandboxError, match=r"administrator says which .*: \*\.example"):
        sandbox.view(asked=["pypi.org"])


@pytest.mark.parametrize(
    ("known", "asked", "proposed"),
    [
        (["*.example"], "a.example", ()),
        (["*.example"], "a.example:8443", ("a.example:8443",)),
        (["*.example:*"], "a.example:8443", ()),
        (["a.example:443"], "a.example", ("a.example",)),
        (["*"], "a.example", ()),
        (["A.example"], "a.EXAMPLE", ()),
        (["10.0.0.0/8"], "a.example", ("a.example",)),
    ],
)
def test_only_what_was_not_agreed_to_is_asked_for(
    sandbox_with: Callable[..., Sandbox],
    known: list[str],
    asked: str,
    proposed: tuple[str, ...],
) -> None:
    view = sandbox_with(known).view(asked=[asked])
    assert (view.proposed, view.hosts) == (proposed, (*known, *proposed))
