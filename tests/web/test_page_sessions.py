"""Sessions on the page: continued after a crash, and drawn from their journals."""

import os
import signal
from collections.abc import Callable

import processes
import pytest
from hosts.places import FAKE_ENGINE
from playwright.sync_api import Page, expect
from talking import call
from web.conftest import Serve
from web.served import Served
from web.test_page import card, press, say, turn_over
from web.test_page_attacks import engine

Visit = Callable[..., Page]


def kill_engine(server: Served) -> None:
    """End the engine as the kernel does when memory is short."""
    for child in processes.below(server.process.pid, recursive=False):
        if "wcore" in processes.words(child):
            os.kill(child.pid, signal.SIGKILL)


@pytest.mark.real
def test_after_a_crash_the_session_goes_on_and_its_card_is_asked_again(
    serve: Serve, visit: Visit
) -> None:
    server = serve([{"text": "well"}, call("Bash", command="touch made")])
    page = visit(server)
    say(page, "please make it")
    card(page, "Bash")
    kill_engine(server)
    expect(page.locator("#gone")).to_contain_text("was ended by signal 9")
    expect(page.locator(".card")).to_have_count(0)
    press(page, "Continue this session")
    expect(page.locator("#gone")).to_contain_text("A turn was interrupted")
    expect(page.get_by_role("log")).to_contain_text("please make it")
    expect(page.locator("details.call")).to_contain_text("touch made")
    press(page, "Go on with it")
    card(page, "Bash")
    expect(page.locator("#gone")).to_be_hidden()
    expect(page.get_by_role("group", name="Command")).to_have_text("touch made")
    press(page, "Allow once")
    expect(page.get_by_role("log")).to_contain_text("done")
    assert (server.workspace / "made").exists()
    card(page, "Bash")  # the script of the new engine begins anew
    press(page, "Deny")
    turn_over(page)


def test_a_session_is_drawn_with_its_waits_and_the_yes_that_would_have_answered(
    serve: Serve, visit: Visit
) -> None:
    server = serve([call("Bash", command="git log --oneline")], [{"text": "over"}])
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    press(page, "Allow once")
    turn_over(page)
    press(page, "Records")
    sessions = page.get_by_role("region", name="Sessions", exact=True)
    expect(sessions.get_by_role("row")).to_have_count(2)
    expect(sessions.get_by_role("row").nth(1).get_by_role("cell").first).to_have_text("go")
    expect(sessions.get_by_role("button", name="Continue")).to_be_disabled()  # it is in use
    sessions.get_by_role("button", name="Look").click()
    one = page.get_by_role("region", name="One session")
    expect(one).to_contain_text("1 answers of a person")
    expect(one.get_by_role("img", name="The session in time")).to_be_visible()
    expect(one.get_by_role("img", name="Time until an answer")).to_be_visible()
    asked = one.get_by_role("row").filter(has_text="git log --oneline")
    expect(asked.get_by_role("cell").nth(2)).to_have_text("1")
    expect(asked.get_by_role("cell").nth(3)).to_have_text("git log")


def test_what_a_sub_agent_says_is_folded_under_the_call_that_started_it(
    serve: Serve, visit: Visit
) -> None:
    spawn = call("Spawn", "s1", task="look")
    says: list[object] = [{"thinking": "hm"}, {"text": "it **says** x"}, call("Bash", command="ls")]
    server = serve([spawn], says, [{"text": "found"}], [{"text": "over"}])
    page = visit(server)
    say(page, "go")
    card(page, "Spawn")
    press(page, "Allow once")
    expect(page.get_by_role("region", name="Bash")).to_contain_text("asked by general")
    row = page.get_by_role("log").locator("details.call").filter(has_text="Spawn")
    expect(page.get_by_text("it says x")).to_be_hidden()
    row.locator("summary").first.click()
    expect(row).to_contain_text("general: Thinking")
    expect(row.locator(".told").first).to_have_text("generalit says x")
    card(page, "Bash")
    press(page, "Deny")
    expect(row.locator(".told").last).to_have_text("generalfound")
    expect(page.locator("#transcript > .told").last).to_contain_text("over")


def test_the_end_of_a_turn_says_how_full_the_window_is(serve: Serve, visit: Visit) -> None:
    page = visit(serve(flags=engine(FAKE_ENGINE, "filling")))
    say(page, "go")
    counted = "90 tokens in, 10 out in this session, 37 % of the context"
    expect(page.get_by_role("log")).to_contain_text(counted)


def test_another_session_is_opened_while_no_turn_runs(serve: Serve, visit: Visit) -> None:
    page = visit(serve([{"text": "well"}], [call("Bash", command="ls")]))
    say(page, "the first one")
    turn_over(page)
    press(page, "Records")
    press(page, "Start a new session")
    log = page.get_by_role("log")
    expect(log).not_to_contain_text("the first one")
    say(page, "another")
    turn_over(page)
    press(page, "Records")
    page.get_by_role("button", name="Continue session the first one").click()
    expect(log).to_contain_text("the first one")
    expect(log).not_to_contain_text("another")
    expect(page.locator("#gone")).to_be_hidden()
    say(page, "and on")
    turn_over(page)
    say(page, "now it asks")
    card(page, "Bash")
    press(page, "Records")
    press(page, "Start a new session")
    expect(page.locator("#notes")).to_contain_text("a turn is running")
    press(page, "Chat")
    card(page, "Bash")
    press(page, "Deny")
