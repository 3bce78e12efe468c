"""What a call will run in, on the card of every Python host; and the modes that go with it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import wcore_host.web
from hosts.places import Place
from hosts.screens import looking
from talking import call
from wcore_host import decode
from wcore_host.acp import modes as acp_modes
from wcore_host.acp import permission_options, tool_call_content
from wcore_host.events import (
    CallEvent,
    Json,
    JsonObject,
    Preview,
    SandboxView,
    Scope,
    Tool,
    ToolRequest,
    Why,
)
from wcore_host.headless.answer_menu import AnswerMenu
from wcore_host.headless.card_queue import Card
from wcore_host.headless.grants import covered
from wcore_host.headless.modes import MODES, is_raise, meaning
from wcore_host.permission import Allow, Deny
from wcore_host.plain import card
from wcore_host.plain.call_dialog import CallDialog
from wcore_host.plain.dialog import Done
from wcore_host.plain.style import Style
from wcore_host.terminal.card_rows import card_rows
from wcore_host.terminal.status import MODE_STYLES
from wcore_host.terminal.text_layout import MARKED

from wcore.vocabulary import Mode

SANDBOX: Final = ("--", "--sandbox", "required")
WORDS: Final = (
    (SandboxView("workspace"), "in the sandbox: no network"),
    (SandboxView("read_only"), "in the sandbox, read only: no network"),
    (SandboxView("workspace", ("pypi.org",)), "in the sandbox, can reach pypi.org"),
    (
        SandboxView("workspace", ("a.example", "b.example"), ("b.example",)),
        "in the sandbox, can reach a.example; asks to reach b.example",
    ),
    (
        SandboxView("workspace", ("b.example",), ("b.example",)),
        "in the sandbox; asks to reach b.example",
    ),
    (SandboxView("none"), "OUTSIDE of the sandbox: can do all that you can"),
    (SandboxView("moon"), "in moon, which this host cannot describe"),
)
STANDS_OUT: Final = {view for view, _ in WORDS if view.proposed or view.view in ("none", "moon")}
HOST: Scope = {"always_host": {"host": "pypi.org"}}


def request(view: SandboxView | None, *scopes: Scope, **args: Json) -> ToolRequest:
    tool = Tool("Bash", "exec", {"command": "make it", **args})
    preview, why = Preview("command", "make it"), Why("sandbox", "it asks for more")
    return ToolRequest("m", "c", tool, why, preview, sandbox=view, suggestions=scopes, digest="d")


def terminal(asked: ToolRequest) -> str:
    return "\n".join(row.text for row in card_rows(Card(asked), 400))


def plain(asked: ToolRequest) -> str:
    return "\n".join(card.rows(asked, Style(False, 400, 100)))


def acp(asked: ToolRequest) -> str:
    shown = tool_call_content.card(asked, tool_call_content.call(asked, "/"))
    return "\n".join(part.model_dump_json() for part in shown).replace("`", "")


HOSTS: Final[tuple[Callable[[ToolRequest], str], ...]] = (terminal, plain, acp)


def test_every_card_says_what_the_call_will_run_in() -> None:
    for host in HOSTS:
        for view, words in WORDS:
            assert words in host(request(view)), (host.__name__, view)
        assert "sandbox" not in host(request(None)).replace("[sandbox]", "").replace("sandbox]", "")


def test_what_nobody_has_agreed_to_stands_out() -> None:
    for view, words in WORDS:
        rows = card_rows(Card(request(view)), 400)
        (row,) = (row for row in rows if words in row.text)
        is_marked = any(segment.style == MARKED for segment in row)
        (line,) = (row for row in card.rows(request(view), Style(True, 400)) if words in row)
        bold = f"**runs {words}" in acp(request(view))
        assert [is_marked, "\x1b[31m" in line, bold] == [view in STANDS_OUT] * 3, view


def test_a_call_that_leaves_the_sandbox_is_answered_with_care() -> None:
    for view, _ in WORDS:
        menu = AnswerMenu(Card(request(view)), persists=True)
        is_careful = view.view in ("none", "moon")
        assert menu.enter() == (Deny("") if is_careful else Allow()), view


def test_names_of_hosts_hide_nothing_and_a_long_list_says_how_long_it_is() -> None:
    hosts = tuple(f"h{n}.example" for n in range(20))
    long_name = ".".join(["a" * 58] * 4) + ".evil.example:8443"
    for host in HOSTS:
        shown = host(request(SandboxView("workspace", hosts, hosts), hosts=[*hosts]))
        assert "h7.example and 12 more" in shown
        assert "h19.example" in shown, "then the argument is shown, too"
        for name in ("safe\u202e.example", "x\x1b[2J"):
            shown = host(request(SandboxView("workspace", (name,), (name,))))
            assert "⟨U+" in shown
            assert not set(shown) & {"\u202e", "\x1b"}
        assert long_name in host(request(SandboxView("workspace", (long_name,), (long_name,))))
        assert "in ⟨U+202E⟩" in host(request(SandboxView("\u202e")))


def test_a_long_list_does_not_push_the_command_out_of_sight() -> None:
    hosts = tuple(f"h{n}.example.org" for n in range(8))
    rows = [
        row.text for row in card_rows(Card(request(SandboxView("workspace", hosts, hosts))), 40)
    ]
    assert rows.index("│ make it") <= 3
    assert hosts[-1] in "".join(row.removeprefix("│ ") for row in rows)


def test_arguments_that_the_words_say_are_not_said_again() -> None:
    asks = SandboxView("workspace", ("a.example", "b.example"), ("b.example",))
    for host in HOSTS[:2]:  # the third one shows them as JSON
        assert host(request(asks, hosts=["b.example"])).count("b.example") == 1
        assert "a.example" in host(request(asks, hosts=["a.example", "b.example"])).split("make")[1]
        assert "outside_sandbox" not in host(request(SandboxView("none"), outside_sandbox=True))
        assert "outside_sandbox" in host(request(asks, outside_sandbox=True))
        assert "hosts" in host(request(None, hosts=[]))
    assert "outside_sandbox" not in acp(request(SandboxView("none"), outside_sandbox=True))


def test_what_a_person_has_changed_is_not_described_as_it_was() -> None:
    asked = request(SandboxView("none"), outside_sandbox=True)
    for changes, is_said in (({"command": "other"}, True), ({"outside_sandbox": False}, False)):
        changed = Card(asked).with_args({**asked.tool.args, **changes})
        text = "\n".join(row.text for row in card_rows(changed, 400))
        assert ("OUTSIDE" in text) is is_said


def test_a_host_for_the_session_is_offered_in_words_and_kept_no_longer() -> None:
    asked = request(SandboxView("workspace", ("pypi.org",), ("pypi.org",)), HOST)
    words = "let every command of this session reach `pypi.org`"
    menu = AnswerMenu(Card(asked), persists=True)
    menu.move(1)
    assert menu.choice.label == f"Yes, and {words}"
    assert menu.enter() is None, "a lasting yes takes two steps"
    assert not menu.can_keep_longer
    assert menu.enter() == Allow(scope=HOST)
    chat, style = CallDialog(asked, can_keep=True), Style(width=200)
    assert f"p yes, and {words}" in "\n".join(chat.rows(style))
    done = chat.answer("p", style)
    assert isinstance(done, Done)
    assert done.command == {"type": "tool_approve", "call_id": "c", "scope": HOST}
    prefix: Scope = {"always_prefix": {"prefix": "make"}}
    options = permission_options.choices(
        request(asked.sandbox, prefix, HOST), frozenset({"persist"}), forms=False
    )
    named = {each.option.option_id: each.option.name for each in options}
    assert named["grant-2"] == f"Allow, and {words}"
    assert "grant-2-project" not in named
    assert "grant-1-project" in named


def test_a_listed_grant_says_what_its_calls_reach() -> None:
    ids = {"grant_id": "g", "kind": "prefix", "tool": "Bash", "prefix": "make"}
    cases: list[tuple[Json, str]] = [
        (None, ""),
        ({"view": "workspace", "hosts": [], "proposed": []}, ""),
        ({"view": "none", "hosts": [], "proposed": []}, ", outside of the sandbox"),
        ({"view": "workspace", "hosts": ["a"], "proposed": ["a"]}, ", reaching a"),
    ]
    for view, words in cases:
        told = covered(decode.grant(decode.Fields({**ids, "sandbox": view})))
        assert told == f"Bash: commands that begin with 'make'{words}"
    host = {"grant_id": "g", "kind": "host", "tool": "Bash", "host": "a.example"}
    assert covered(decode.grant(decode.Fields(host))) == "Bash: every command reaches 'a.example'"


def test_the_wire_says_it_and_an_engine_need_not() -> None:
    tool: Json = {"name": "Bash", "category": "exec", "args": {}, "description": ""}
    view: Json = {"view": "workspace", "hosts": ["a", 7], "proposed": ["a"]}
    cases: list[tuple[JsonObject, SandboxView | None]] = [
        ({"sandbox": view}, SandboxView("workspace", ("a",), ("a",))),
        ({"sandbox": {"hosts": []}}, SandboxView("")),
        ({"sandbox": None}, None),
        ({}, None),
    ]
    for kind in ("tool_request", "call_announced"):
        for said, sandbox in cases:
            told = {"type": kind, "msg_id": "m", "call_id": "c", "tool": tool, **said}
            event = decode.line(json.dumps(told).encode())
            assert isinstance(event, CallEvent)
            assert event.sandbox == sandbox


# --- modes ----------------------------------------------------------------------------------------


def test_every_mode_has_words_wherever_modes_have_words() -> None:
    names = [mode.value for mode in Mode]
    web = Path(str(wcore_host.web.__path__[0]), "static", "modes.js").read_text()
    assert re.findall(r'^  \["(\w+)", ', web, re.MULTILINE) == names
    for known in (MODES, acp_modes.NAMES, MODE_STYLES):
        assert list(known) == names


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("default", "plan"), ("plan", "auto_edit"), ("auto_edit", "auto_run"),
        ("auto_run", "force"), ("default", "read_only"),
    ],
)  # fmt: skip
def test_a_raise_is_what_lets_more_run_unasked(lower: str, higher: str) -> None:
    assert is_raise(lower, higher)
    assert not is_raise(higher, lower)
    assert not is_raise("read_only", "plan")
    assert is_raise(lower, "a newer one")


def test_plan_does_not_claim_to_ask() -> None:
    assert "asks" not in meaning("plan")
    assert meaning("auto_run").endswith("everything else asks first")


# --- a real engine --------------------------------------------------------------------------------


async def test_a_card_of_a_real_engine_says_it_on_the_screen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = call("Bash", command="true", hosts=["a.example"])
    leaves = call("Bash", command="true", outside_sandbox=True)
    flags = ("--mode", "auto_run", "--model", place.script([asks], [asks], [leaves], []), *SANDBOX)
    async with looking(place, monkeypatch, *flags) as screen:
        await screen.say("go")
        await screen.see("in the sandbox; asks to reach a.example")
        assert screen.text.splitlines()[-1].startswith(" auto_run")
        assert "hosts:" not in screen.text
        await screen.listens()
        while "> Yes, and let every command of this session reach `a.example`" not in screen.text:
            await screen.press("down")
        await screen.press("enter")
        await screen.listens_to_text()
        await screen.press("enter")
        await screen.see("OUTSIDE of the sandbox: can do all that you can")
        await screen.listens()
        assert "> No" in screen.text
        await screen.press("enter")
        await screen.see("denied by the user")
