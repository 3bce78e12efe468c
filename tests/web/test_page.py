"""The page as a person uses it, by role and name, in a real browser with a real engine."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from talking import call
from web.conftest import Serve

Visit = Callable[..., Page]
DEAF_MS = 600  # a card that has just come answers nothing for half a second


def say(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send").click()


def card(page: Page, name: str) -> None:
    """Wait until this card is in front and listens."""
    expect(page.get_by_role("region", name=name, exact=True)).to_be_visible()
    page.wait_for_timeout(DEAF_MS)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def no_card(page: Page) -> None:
    expect(page.locator("#cards > *")).to_have_count(0)


def turn_over(page: Page) -> None:
    """Wait until everything that was allowed has run."""
    no_card(page)
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_a_command_is_shown_allowed_and_run(serve: Serve, visit: Visit) -> None:
    server = serve([call("Bash", command="echo ab > made")], [{"text": "**all** done"}])
    page = visit(server)
    expect(page.get_by_role("button", name="Mode: read only")).to_be_visible()
    say(page, "make it")
    card(page, "Bash")
    front = page.get_by_role("region", name="Bash")
    expect(front.get_by_role("group", name="Command")).to_have_text("echo ab > made")
    expect(front.locator("mark")).to_have_text("> made")
    expect(front).to_contain_text("It asks because:")
    expect(front.get_by_role("timer")).to_have_text(re.compile(r"[45]:\d\d left"))
    expect(page).to_have_title("(1) wcore asks")
    press(page, "Allow once")
    no_card(page)
    expect(page.get_by_role("log")).to_contain_text("all done")
    expect(page.get_by_role("log").locator("strong")).to_have_text("all")
    assert (server.workspace / "made").read_text() == "ab\n"
    expect(page).to_have_title("wcore")


def test_several_cards_queue_and_each_answer_goes_to_the_one_in_front(
    serve: Serve, visit: Visit
) -> None:
    calls = [call("Bash", f"c{n}", command=f"touch made{n}") for n in (1, 2, 3)]
    server = serve(calls, [{"echo": True}])
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    front = page.get_by_role("region", name="Bash")
    expect(front).to_contain_text("1 of 3 waiting")
    expect(front).to_contain_text("touch made1")
    page.get_by_text("Deny and say why…").click()
    page.get_by_role("textbox", name="What should it do instead?").fill("use mkdir")
    press(page, "Deny with these words")
    expect(front).to_contain_text("touch made2")
    page.wait_for_timeout(DEAF_MS)
    press(page, "Allow once")
    expect(front).to_contain_text("touch made3")
    page.wait_for_timeout(DEAF_MS)
    press(page, "Deny")
    turn_over(page)
    expect(page.get_by_role("log")).to_contain_text("use mkdir")
    assert [p.name for p in server.workspace.glob("made*")] == ["made2"]


@pytest.mark.clock
def test_a_click_that_was_meant_for_the_card_before_answers_nothing(
    serve: Serve, visit: Visit
) -> None:
    calls = [call("Bash", f"c{n}", command=f"touch made{n}") for n in (1, 2)]
    server = serve(calls, [{"text": "over"}])
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    page.get_by_role("button", name="Allow once").dblclick()
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("region", name="Bash")).to_contain_text("touch made2")
    page.wait_for_timeout(DEAF_MS)
    press(page, "Deny")
    turn_over(page)
    assert [p.name for p in server.workspace.glob("made*")] == ["made1"]


def test_a_narrow_yes_is_edited_kept_listed_and_taken_back_while_a_turn_runs(
    serve: Serve, visit: Visit
) -> None:
    commands = ("git log --oneline", "git status", "touch made", "git status")
    server = serve(*([call("Bash", command=command)] for command in commands))
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    page.get_by_text("Allow and remember…").click()
    stored = page.get_by_role("textbox", name="Commands that begin with: exactly what is stored")
    expect(stored).to_have_value("git log")
    stored.fill("git ")
    page.get_by_role("combobox", name="Keep it").select_option("in this project, always")
    press(page, "Allow and remember")
    front = page.get_by_role("region", name="Bash")
    expect(front).to_contain_text("touch made")  # what came between was covered
    press(page, "Settings")
    given = page.get_by_role("region", name="Lasting yeses")
    expect(given.get_by_role("row").nth(1)).to_contain_text("commands that begin with git")
    expect(given.get_by_role("row").nth(1)).to_contain_text("this project")
    given.get_by_role("button", name="Take back").click()
    expect(given).to_contain_text("There are none")
    press(page, "Chat")
    card(page, "Bash")
    press(page, "Deny")
    expect(front).to_contain_text("git status")  # it asks again
    assert not (server.workspace / "made").exists()


def test_a_yes_is_offered_for_as_long_as_it_can_be_kept(serve: Serve, visit: Visit) -> None:
    server = serve([call("Bash", command="git status")], [{"text": "over"}])
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    page.get_by_text("Allow and remember…").click()
    kept = page.get_by_role("combobox", name="Keep it")
    longest = {
        "This exact command": "in this project, always",
        "Every call of Bash, whatever its arguments": "for this session",
    }
    everywhere = "for me, everywhere"
    page.get_by_role("textbox", name="exactly what is stored").focus()
    expect(kept.get_by_role("option").last).to_have_text(everywhere)
    kept.select_option(everywhere)
    for name, label in longest.items():
        page.get_by_label(name, exact=True).check()
        expect(kept.get_by_role("option").last).to_have_text(label)
        expect(kept.locator("option:checked")).to_have_text(label)
    press(page, "Allow and remember")
    turn_over(page)


def test_a_card_says_what_the_call_will_run_in(serve: Serve, visit: Visit) -> None:
    hosts = [f"h{n}.example" for n in range(8)]
    calls = (
        call("Bash", command="true", hosts=hosts),
        call("Bash", command="true", hosts=hosts[:2]),
        call("Bash", command="true", outside_sandbox=True),
    )
    flags = ("--mode", "default", "--", "--sandbox", "required")
    page = visit(serve(*([each] for each in calls), [{"text": "over"}], flags=flags))
    say(page, "go")
    card(page, "Bash")
    front = page.get_by_role("region", name="Bash")
    expect(front.locator(".runs-in")).to_have_text(
        f"In the sandbox; asks to reach {', '.join(hosts)}"
    )
    expect(front.locator(".runs-in")).to_have_class("runs-in unusual")
    expect(front.locator(".args")).to_have_count(0)  # the words say what the argument says
    page.get_by_text("Allow and remember…").click()
    page.get_by_label("Let every command of this session reach “h0.example”").check()
    kept = page.get_by_role("combobox", name="Keep it")
    expect(kept.get_by_role("option")).to_have_text(["for this session"])
    press(page, "Allow and remember")
    words = "In the sandbox, can reach h0.example; asks to reach h1.example"
    expect(front.locator(".runs-in")).to_have_text(words)
    expect(front.locator(".args")).to_contain_text("h0.example")
    page.wait_for_timeout(DEAF_MS)
    press(page, "Deny")
    expect(front.locator(".runs-in.unusual")).to_contain_text("OUTSIDE of the sandbox: can do all")
    page.wait_for_timeout(DEAF_MS)
    page.get_by_text("Change it first…").click()
    page.get_by_role("textbox", name="outside_sandbox (JSON)").fill("false")
    press(page, "Show it with these changes")
    expect(front).to_contain_text("Changed by you")
    expect(front.locator(".runs-in")).to_have_count(0)
    page.wait_for_timeout(DEAF_MS)
    press(page, "Deny")
    turn_over(page)


def test_deny_and_stop_ends_the_turn(serve: Serve, visit: Visit) -> None:
    calls = [call("Bash", f"c{n}", command="true") for n in (1, 2)]
    server = serve(calls, [{"text": "never said"}])
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    page.get_by_text("Deny and say why…").click()
    press(page, "Deny and stop the turn")
    no_card(page)
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.get_by_role("log")).not_to_contain_text("never said")


def test_a_diff_is_shown_in_colours_and_then_made(serve: Serve, visit: Visit) -> None:
    edit = call("Edit", file_path="a.py", old_string="x = 1", new_string='x = "two"')
    server = serve([edit], [{"text": "over"}])
    (server.workspace / "a.py").write_text("# first\nx = 1\nprint(x)\n")
    page = visit(server)
    say(page, "go")
    card(page, "Edit")
    changes = page.get_by_role("group", name="Changes")
    expect(changes.locator("tr.more")).to_contain_text('added: x = "two"')
    expect(changes.locator("tr.less")).to_contain_text("removed: x = 1")
    expect(changes.locator("tr.more .t-string")).to_have_text('"two"')
    press(page, "Allow once")
    turn_over(page)
    assert (server.workspace / "a.py").read_text() == '# first\nx = "two"\nprint(x)\n'


def test_a_question_is_answered_with_the_keyboard_alone(serve: Serve, visit: Visit) -> None:
    options = [{"label": "staging", "description": "safe"}, {"label": "production"}]
    ask = call("AskUserQuestion", question="Where to?", header="Target", options=options)
    server = serve([ask], [{"echo": True}])
    page = visit(server)
    page.keyboard.press("F6")
    page.keyboard.type("go")
    page.keyboard.press("Enter")
    card(page, "Target")
    page.keyboard.press("F6")
    expect(page.get_by_role("heading", name="Target")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="production")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    no_card(page)
    expect(page.get_by_role("log")).to_contain_text('"output": "production"')


def test_raising_the_mode_takes_a_second_yes_and_lowering_it_none(
    serve: Serve, visit: Visit
) -> None:
    page = visit(serve())
    press(page, "Mode: read only")
    page.get_by_role("radio", name="force").check()
    press(page, "Set the mode")
    press(page, "Cancel")
    expect(page.get_by_role("button", name="Mode: read only")).to_be_visible()
    press(page, "Mode: read only")
    page.get_by_role("radio", name="auto edit").check()
    press(page, "Set the mode")
    expect(page.get_by_role("dialog", name="Raise the mode to auto edit?")).to_be_visible()
    press(page, "Yes, auto edit")
    press(page, "Mode: auto edit")
    page.get_by_role("radio", name="default").check()
    press(page, "Set the mode")
    expect(page.get_by_role("button", name="Mode: default")).to_be_visible()


def test_a_reload_keeps_the_token_and_brings_the_card_back(serve: Serve, visit: Visit) -> None:
    server = serve([{"text": "well\n\n"}, call("Bash", command="touch made")], [{"text": "over"}])
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    assert "code" not in page.url
    page.reload()
    card(page, "Bash")
    expect(page.get_by_role("log")).to_contain_text("well")
    press(page, "Allow once")
    no_card(page)
    expect(page.get_by_role("log")).to_contain_text("over")
    assert (server.workspace / "made").exists()


def test_of_two_tabs_the_first_answer_counts_and_the_other_tab_says_so(
    serve: Serve, visit: Visit
) -> None:
    server = serve([call("Bash", command="touch made")], [{"text": "over"}])
    one, two = visit(server), visit(server)
    say(one, "go")
    card(one, "Bash")
    card(two, "Bash")
    expect(two.get_by_role("log")).to_contain_text("go")
    press(two, "Deny")
    no_card(one)
    expect(one.get_by_role("status")).to_contain_text("another tab answered first: denied")
    expect(two.get_by_role("status")).not_to_contain_text("another tab")
    assert not (server.workspace / "made").exists()


def test_stop_ends_what_runs(serve: Serve, visit: Visit) -> None:
    server = serve([call("Bash", command="sleep 600")], flags=("--mode", "force"))
    page = visit(server)
    say(page, "go")
    expect(page.get_by_role("log")).to_contain_text("running")
    press(page, "Stop")
    expect(page.get_by_role("log")).to_contain_text("stopped by the user")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
