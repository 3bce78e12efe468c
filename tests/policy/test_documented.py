"""What the documents that this engine follows ask for, each with the test that holds it.

`HELD` maps a requirement to the test; where nothing held one yet, the test is here.
"""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from policy.asking import wcore
from talking import Conversation, call

from wcore.policy.tiers import Tier
from wcore.store import ToolApprovalDecisionEvent

Talk = Callable[..., Conversation]
TESTS: Final = Path(__file__).parent.parent

HELD: Final = {
    # tiers and audit
    "REQ-PERM-1": "policy/test_documented::test_a_tool_of_an_agent_has_one_of_three_statuses",
    "REQ-PERM-2": (
        "policy/test_documented::test_a_failing_preload_fails_the_turn_and_offers_nothing"
    ),
    "REQ-PERM-2, one query": "store/test_tiers::test_the_snapshot_costs_one_query",
    "REQ-PERM-2, blocked is absent": (
        "policy/test_conversations::test_a_blocked_tool_is_unknown_to_the_model_and_never_prepared"
    ),
    "REQ-PERM-3": (
        "unit/policy/test_tiers::test_a_tool_without_a_status_gets_the_first_default_that_fits"
    ),
    "REQ-AUDIT-1": (
        "policy/test_documented::test_a_decision_is_one_event_with_the_documented_fields"
    ),
    "REQ-AUDIT-2": (
        "policy/test_documented::test_nothing_of_the_arguments_reaches_the_audit_however_decided"
    ),
    "REQ-AUDIT-2, one row": "e2e/test_memory::test_every_decision_leaves_one_row_and_no_arguments",
    "REQ-AUDIT-3": (
        "store/test_audit::test_a_locked_audit_delays_nobody_and_what_does_not_fit_is_logged"
    ),
    # the seven tests of an approval gate
    "1 auto-accept runs without asking": (
        "e2e/test_modes::test_a_mode_asks_about_exactly_what_it_does_not_cover"
    ),
    "2 ask mode asks and waits": (
        "e2e/test_approvals::test_a_call_waits_for_the_host_and_runs_after_the_yes"
    ),
    "3 a rejection is in the history": (
        "e2e/test_approvals::test_a_denied_call_never_runs_and_the_model_hears_the_reason"
    ),
    "4 always allow lasts": (
        "e2e/test_memory::test_a_lasting_yes_holds_for_the_next_engine_until_it_is_revoked"
    ),
    "5 cancel while waiting is a no": (
        "e2e/test_turns::test_stop_while_parked_cancels_the_call_and_the_session_lives"
    ),
    "6 calls of a reply are gated independently": (
        "e2e/test_approvals::test_two_calls_are_answered_in_any_order_and_told_in_their_own"
    ),
    "7 a host that is gone is a no in the end": (
        "e2e/test_approvals::test_silence_is_a_no_after_the_time_to_live"
    ),
    # the edge cases of an approval gate
    "5.1 stop while a question waits": (
        "e2e/test_turns::test_stop_while_parked_cancels_the_call_and_the_session_lives"
    ),
    "5.2 several calls at once, also of one tool": (
        "e2e/test_calls::test_all_questions_of_a_reply_are_asked_at_once"
    ),
    "5.3 the host restarts while a question waits": (
        "policy/test_documented::test_a_host_that_forgot_its_cards_asks_for_them_again"
    ),
    "5.4 the answer comes late, the rest goes on": (
        "e2e/test_calls::test_reading_runs_beside_a_running_command"
    ),
    "5.5 what was allowed for ever is damaged": (
        "policy/test_documented::test_grants_that_are_damaged_grant_nothing_and_break_nothing"
    ),
    "5.6 answer and timeout race": (
        "e2e/test_approvals::test_an_answer_in_the_same_instant_is_never_lost"
    ),
    "5.7 a call before the settings are known": (
        "policy/test_documented::test_the_first_call_asks_when_nothing_was_set_yet"
    ),
    "5.8 a card that was answered is settled": (
        "policy/test_documented::test_every_card_is_settled_before_its_result"
    ),
}


@pytest.mark.parametrize("requirement", HELD)
def test_every_requirement_names_a_test_that_exists(requirement: str) -> None:
    file, _, name = HELD[requirement].partition("::")
    source = (TESTS / f"{file}.py").read_text()
    assert re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), HELD[requirement]


def test_the_key_tests_of_the_permission_engine_have_their_documented_names() -> None:
    source = (TESTS / "unit/policy/test_permissions.py").read_text()
    for name in (
        *("allow_all", "ask_by_default", "rule_matching", "glob_pattern", "first_rule_wins"),
        *("session_allow", "session_allow_per_tool", "is_allowed", "needs_approval"),
        *("wildcard_rule", "deny_overrides_default"),
    ):
        assert f"\ndef test_permissions_{name}(" in source, name


# --- what nothing else holds ----------------------------------------------------------------------


async def test_a_tool_of_an_agent_has_one_of_three_statuses(talk: Talk) -> None:
    async with talk([]) as host:
        await host.ready()
        tools: list[dict[str, str]] = [
            {"name": f"mcp__t__{tier.value}", "status": tier.value} for tier in Tier
        ]
        tools.append({"name": "LS"})
        await host.say(type="set_agent_tools", request_id="r", agent="main", tools=tools)
        (listed,) = (await host.hear("command_result"))["agents"]
        found = [tool["status"] for tool in listed["tools"]]
        assert found == ["always_allow", "needs_approval", "blocked", "always_allow"]
        odd = [{"name": "LS", "status": "sometimes"}]
        await host.say(type="set_agent_tools", request_id="r", agent="main", tools=odd)
        assert (await host.hear("error"))["error"]["code"] == "protocol_error"


async def test_a_failing_preload_fails_the_turn_and_offers_nothing(
    talk: Talk, tmp_path: Path
) -> None:
    async with talk([]) as first:
        await first.ready()
        await first.turn()
    (store,) = (tmp_path / "home").rglob("*.db")
    with sqlite3.connect(store) as database:
        database.execute("ALTER TABLE agent_tool_permissions RENAME TO gone")
    database.close()
    run = [call("Bash", "c", command="touch made")]
    async with talk(run, run, flags=("--force",)) as host:
        await host.ready()
        await host.message()
        problem = (await host.hear("error"))["error"]
        assert problem["code"] == "config_error"
        assert str(store) in problem["message"]
        await host.hear("stream_end", finish_reason="error")
        assert host.of("call_announced") == host.of("tool_request") == []
        with sqlite3.connect(store) as database:
            database.execute("ALTER TABLE gone RENAME TO agent_tool_permissions")
        database.close()
    assert not (host.workspace / "made").exists()


def test_a_decision_is_one_event_with_the_documented_fields() -> None:
    names = set(ToolApprovalDecisionEvent.__struct_fields__)
    assert names >= {
        *("tool_call_id", "user_id", "agent_id", "chat_id"),
        *("tool_name", "decision", "reason", "with_override"),
    }
    assert not {name for name in names if "arg" in name or "input" in name}


async def test_nothing_of_the_arguments_reaches_the_audit_however_decided(
    talk: Talk, workspace: Path
) -> None:
    mark = "zq-mark"
    calls = [
        call("LS", "mode", path="."),
        call("Write", "safety", file_path=f".wcore/{mark}", content=mark),
        call("Bash", "never", command=f"rm -rf /; {mark}"),
        call("Write", "yes", file_path=f"{mark}.txt", content=mark),
        call("Read", "protected", file_path=f".env.{mark}"),
        call("Read", "no", file_path=f"../{mark}"),
        call("Bash", "unread", command=f"{mark} $(x)"),
    ]
    async with talk(calls, [], flags=("--mode", "read_only")) as host:
        (workspace / f".env.{mark}").write_text("x")
        (workspace.parent / mark).write_text("x")
        await host.ready()
        await host.message()
        for _ in range(4):
            asked = (await host.hear("tool_request"))["call_id"]
            await (host.approve(asked) if asked == "yes" else host.deny(asked))
        await host.hear("stream_end")
    done = wcore("audit", "list", "--json", cwd=workspace)
    assert len(done.stdout.splitlines()) == len(calls)
    assert mark not in done.stdout


async def test_a_host_that_forgot_its_cards_asks_for_them_again(talk: Talk) -> None:
    async with talk([call("Bash", "c", command="true")], []) as host:
        await host.ready()
        await host.message()
        card = await host.hear("tool_request")
        await host.say(type="list_pending", request_id="r")
        (again,) = (await host.hear("command_result"))["calls"]
        assert {**again, "expires_in_s": 0} == {**card, "expires_in_s": 0}
        await host.deny("c")
        await host.hear("stream_end")


async def test_grants_that_are_damaged_grant_nothing_and_break_nothing(
    talk: Talk, tmp_path: Path
) -> None:
    echo = [call("Bash", command="echo hi")]
    async with talk(echo, []) as first:
        await first.ready()
        await first.message()
        scope = {"always_prefix": {"prefix": "echo"}}
        asked = await first.hear("tool_request")
        await first.approve(asked["call_id"], scope=scope, persist="user")
        await first.hear("stream_end")
    (store,) = (tmp_path / "home").rglob("*.db")
    with sqlite3.connect(store) as database:
        database.execute("ALTER TABLE grants RENAME TO gone")
    database.close()
    async with talk(echo, []) as host:
        await host.ready()
        await host.message()
        told = await host.hear("info")
        assert "grants" in told["message"]
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")


async def test_the_first_call_asks_when_nothing_was_set_yet(talk: Talk) -> None:
    async with talk([call("Read", "c", file_path="a")], []) as host:
        await host.message()  # before `ready`, and before any mode
        assert (await host.hear("tool_request"))["why"]["row"] == "default"
        await host.deny("c")
        await host.hear("stream_end")


async def test_every_card_is_settled_before_its_result(talk: Talk) -> None:
    calls = [call("LS", "yes", path="."), call("LS", "no", path="..")]
    async with talk(calls, []) as host:
        await host.ready()
        await host.message()
        for call_id in ("yes", "no"):
            await host.hear("tool_request", call_id=call_id)
        await host.approve("yes")
        await host.deny("no")
        await host.hear("stream_end")
        for call_id, end in (("yes", "tool_result"), ("no", "tool_cancelled")):
            kinds = [e["type"] for e in host.heard if e.get("call_id") == call_id]
            assert kinds.index("call_settled") < kinds.index(end)
