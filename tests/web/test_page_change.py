"""Changing what a call does, in the page: what runs is what was written and then shown."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect
from talking import call
from web.conftest import Serve
from web.test_page import DEAF_MS, card, press, say, turn_over

Visit = Callable[..., Page]
SHOW = "Show it with these changes"
ALLOW = "Allow with my changes"
EVIL = '"><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\u202e\x1b[2J'


def opened(page: Page, tool: str) -> Locator:
    """Return the card with its fields open."""
    say(page, "go")
    card(page, tool)
    page.get_by_text("Change it first…").click()
    return page.get_by_role("region", name=tool, exact=True)


def test_a_changed_command_is_shown_again_and_exactly_that_runs(serve: Serve, visit: Visit) -> None:
    asked = call("Bash", command="echo a > made", description="make it")
    server = serve([asked], [{"echo": True}])
    page = visit(server)
    front = opened(page, "Bash")
    page.get_by_role("textbox", name="command").fill("echo b > made2")
    page.get_by_role("textbox", name="command").press("Enter")
    expect(page.get_by_role("button", name=ALLOW)).to_have_count(0)
    expect(page.get_by_role("button", name="Allow once")).to_be_disabled()
    expect(page.get_by_text("Allow and remember…")).to_be_hidden()
    page.get_by_role("textbox", name="command").fill("echo b > made2")
    press(page, SHOW)
    expect(page.get_by_role("heading", name="Bash")).to_be_focused()
    press(page, ALLOW)  # too early: meant for what stood there before
    expect(front).to_contain_text("Changed by you")
    expect(front.get_by_role("group", name="Command")).to_have_text("echo b > made2")
    expect(front.get_by_role("group", name="Changes")).to_contain_text("removed: echo a > made")
    assert not list(server.workspace.glob("made*")), "showing it runs nothing"
    page.wait_for_timeout(DEAF_MS)
    press(page, ALLOW)
    turn_over(page)
    row = page.get_by_role("log").locator("details.call")
    expect(row).to_contain_text("changed: echo b > made2")
    assert [p.name for p in server.workspace.glob("made*")] == ["made2"]
    page.reload()
    expect(page.get_by_role("log")).to_contain_text("changed: echo b > made2")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.locator("#notes")).to_be_empty()  # of what was answered before nobody is told


def test_what_the_engine_does_not_take_is_said_on_the_card_which_stays(
    serve: Serve, visit: Visit
) -> None:
    edit = call("Edit", file_path="a", old_string="one", new_string="two")
    server = serve([edit], [{"text": "over"}])
    (server.workspace / "a").write_text("one\n")
    page = visit(server)
    front = opened(page, "Edit")
    page.get_by_role("textbox", name="old_string").fill("none")
    press(page, SHOW)
    page.wait_for_timeout(DEAF_MS)
    press(page, ALLOW)
    expect(front.get_by_role("alert").first).to_contain_text("Not taken: changed arguments:")
    page.get_by_text("Change it first…").click()
    page.get_by_role("textbox", name="old_string").fill("one")
    page.get_by_role("textbox", name="new_string").fill("three\nfour")
    press(page, SHOW)
    page.wait_for_timeout(DEAF_MS)
    press(page, ALLOW)
    turn_over(page)
    assert (server.workspace / "a").read_text() == "three\nfour\n"


def test_a_path_that_was_not_on_the_card_is_refused_and_undone(serve: Serve, visit: Visit) -> None:
    server = serve([call("Write", file_path="a", content="x")], [{"text": "over"}])
    page = visit(server)
    front = opened(page, "Write")
    page.get_by_role("textbox", name="file_path").fill(".env")
    press(page, SHOW)
    page.wait_for_timeout(DEAF_MS)
    press(page, ALLOW)
    expect(front.get_by_role("alert").first).to_contain_text("was not on the card")
    press(page, "Undo my changes")
    expect(front).not_to_contain_text("Changed by you")
    page.wait_for_timeout(DEAF_MS)
    press(page, "Allow once")
    turn_over(page)
    assert [p.name for p in server.workspace.iterdir()] == ["a"]


def test_a_tab_that_did_not_change_it_answers_the_call_as_it_shows_it(
    serve: Serve, visit: Visit
) -> None:
    server = serve([call("Bash", command="touch made")], [{"text": "over"}])
    one, two = visit(server), visit(server)
    opened(one, "Bash")
    one.get_by_role("textbox", name="command").fill("touch other")
    press(one, SHOW)
    card(two, "Bash")
    press(two, "Allow once")
    turn_over(one)
    expect(one.get_by_role("status")).to_contain_text("another tab answered first")
    assert [p.name for p in server.workspace.iterdir()] == ["made"]


def test_hostile_arguments_stay_text_in_fields_and_reach_the_engine_unchanged(
    serve: Serve, visit: Visit
) -> None:
    asked = call("Write", file_path="a", content=EVIL)
    server = serve([asked], [{"text": "over"}])
    page = visit(server)
    front = opened(page, "Write")
    content = page.get_by_role("textbox", name="content (JSON)")
    expect(content).to_have_value(re.compile(r"\\u202e\\u001b\[2J"))
    page.get_by_role("textbox", name="file_path").fill("b<b>" + "\u202e")
    press(page, SHOW)
    expect(front).to_contain_text("b<b>⟨U+202E⟩")
    page.get_by_text("Change it first…").click()
    page.get_by_role("textbox", name="file_path").fill('"b"')
    content.fill("{")
    page.wait_for_timeout(DEAF_MS)
    press(page, SHOW)
    expect(front.locator(".change").get_by_role("alert")).to_contain_text("content:")
    content.fill('"\\u202e<script>window.pwned=1</script>"')
    press(page, SHOW)
    page.wait_for_timeout(DEAF_MS)
    expect(front.locator("script")).to_have_count(0)
    press(page, ALLOW)
    turn_over(page)
    assert page.evaluate("() => window.pwned") is None
    assert (server.workspace / "b").read_text() == "\u202e<script>window.pwned=1</script>"


def test_what_a_page_would_round_is_offered_for_no_change(serve: Serve, visit: Visit) -> None:
    server = serve([call("Bash", command="true", timeout=9007199254740993)])
    page = visit(server)
    say(page, "go")
    expect(page.get_by_role("log")).to_contain_text("Bash")
    expect(page.get_by_text("Change it first…")).to_have_count(0)
