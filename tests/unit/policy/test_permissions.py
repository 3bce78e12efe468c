"""The documented pipeline: session approvals, rules, default. One test a documented key test."""

import pytest

from wcore.permissions import Permission, PermissionEngine, PermissionRule

ALLOW, DENY, ASK = Permission.ALLOW, Permission.DENY, Permission.ASK


def rule(pattern: str, permission: Permission) -> PermissionRule:
    return PermissionRule(pattern, permission)


def test_permissions_allow_all() -> None:
    engine = PermissionEngine.allow_all()
    assert {engine.evaluate(tool, {}) for tool in ("read", "bash", "")} == {ALLOW}


def test_permissions_ask_by_default() -> None:
    assert PermissionEngine.ask_by_default([]).evaluate("read", {}) is ASK


def test_permissions_rule_matching() -> None:
    engine = PermissionEngine.ask_by_default(
        [rule("read", ALLOW), rule("bash", DENY), rule("write", ASK)]
    )
    assert [engine.evaluate(t, {}) for t in ("read", "bash", "write")] == [ALLOW, DENY, ASK]


def test_permissions_glob_pattern() -> None:
    engine = PermissionEngine.ask_by_default([rule("mcp__*", ALLOW)])
    assert engine.evaluate("mcp__fs__read", {}) is ALLOW
    assert engine.evaluate("read", {}) is ASK


def test_permissions_first_rule_wins() -> None:
    engine = PermissionEngine.ask_by_default([rule("bash", ALLOW), rule("bash", DENY)])
    assert engine.evaluate("bash", {}) is ALLOW


def test_permissions_session_allow() -> None:
    engine = PermissionEngine.ask_by_default([])
    assert engine.evaluate("bash", {}) is ASK
    engine.record_session_allow("bash")
    assert engine.evaluate("bash", {"command": "ls"}) is ALLOW


def test_permissions_session_allow_per_tool() -> None:
    engine = PermissionEngine.ask_by_default([])
    engine.record_session_allow("read")
    assert engine.evaluate("write", {}) is ASK


@pytest.mark.parametrize("permission", Permission)
def test_permissions_is_allowed(permission: Permission) -> None:
    engine = PermissionEngine([rule("x", permission)], ASK)
    assert engine.is_allowed("x", {}) is (permission is ALLOW)


@pytest.mark.parametrize("permission", Permission)
def test_permissions_needs_approval(permission: Permission) -> None:
    engine = PermissionEngine([rule("x", permission)], ALLOW)
    assert engine.needs_approval("x", {}) is (permission is ASK)


def test_permissions_wildcard_rule() -> None:
    engine = PermissionEngine.ask_by_default([rule("*", ALLOW)])
    assert all(engine.is_allowed(tool, {}) for tool in ("read", "", "a\nb", "mcp__x__y"))


def test_permissions_deny_overrides_default() -> None:
    engine = PermissionEngine.ask_by_default([rule("dangerous", DENY)])
    assert engine.evaluate("dangerous", {}) is DENY


def test_a_session_approval_comes_before_a_deny_rule() -> None:
    engine = PermissionEngine.ask_by_default([rule("bash", DENY)])
    engine.record_session_allow("bash")
    assert engine.is_allowed("bash", {})


def test_an_invalid_pattern_matches_only_itself() -> None:
    engine = PermissionEngine.ask_by_default([rule("a[b", ALLOW)])
    assert engine.is_allowed("a[b", {})
    assert not engine.is_allowed("ab", {})
