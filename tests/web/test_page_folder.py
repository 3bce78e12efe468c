"""What a page does with the folder, the model and other people's servers."""

import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from talking import call
from web.conftest import Serve
from web.served import until
from web.test_page import card, press

Visit = Callable[..., Page]
ECHO: list[object] = [{"echo": True}]
EVIL = '<img src=x onerror="window.pwned=1">'
ROGUE = Path(__file__).parents[1] / "mcp" / "rogue.py"


def test_a_file_is_completed_by_key_and_goes_along_with_the_message(
    serve: Serve, visit: Visit
) -> None:
    server = serve(ECHO)
    (server.workspace / "src").mkdir()
    (server.workspace / "src" / "greet.py").write_text("x = 1\n")
    (server.workspace / f"src{EVIL}".replace("/", "")).touch()
    (server.workspace / "src\u202etxt").touch()
    page = visit(server)
    message = page.get_by_role("textbox", name="Message")
    message.press_sequentially("look at @gre")
    found = page.get_by_role("listbox", name="Files")
    expect(found.get_by_role("option")).to_have_text(["src/greet.py"])
    message.press("Enter")
    expect(message).to_have_value("look at @src/greet.py ")
    expect(found).to_be_hidden()
    message.press_sequentially("@src")
    expect(found.get_by_role("option", name="src/", exact=True)).to_be_visible()
    expect(found).not_to_contain_text("txt")
    message.press("Escape")
    expect(found).to_be_hidden()
    token = server.enter()
    with server.events(token) as events:
        message.press("Enter")
        said = until(events, "host_said")
        assert said["text"] == "look at @src/greet.py @src"
    expect(page.get_by_role("log")).to_contain_text("src/greet.py")
    assert page.evaluate("() => window.pwned") is None


def test_the_model_is_changed_and_one_that_is_not_there_is_said(serve: Serve, visit: Visit) -> None:
    server = serve([])
    page = visit(server)
    press(page, "Settings")
    model = page.get_by_role("region", name="Model", exact=True)
    model.get_by_role("textbox", name="Model").fill(f"other{EVIL}")
    model.get_by_role("button", name="Use it").click()
    expect(page.locator("#notes")).to_contain_text(f"other{EVIL}")
    model.get_by_role("textbox", name="Model").fill("offline")
    model.get_by_role("button", name="Use it").click()
    expect(page.locator("#where")).to_contain_text("model offline")
    assert page.evaluate("() => window.pwned") is None


def test_the_folder_is_trusted_after_a_second_yes_and_no_longer_when_it_changes(
    serve: Serve, visit: Visit
) -> None:
    server = serve()
    place = server.workspace / ".wcore"
    place.mkdir()
    (place / "policy.toml").write_text('[[rule]]\nmatch = "Bash(git status)"\ndo = "allow"\n')
    page = visit(server)
    press(page, "Settings")
    folder = page.get_by_role("region", name="This folder")
    expect(folder).to_contain_text("You do not trust these files")
    expect(folder.get_by_role("row").nth(1)).to_contain_text("policy.toml")
    press(page, "Trust these files")
    press(page, "Cancel")
    press(page, "Trust these files")
    press(page, "Yes, trust them")
    expect(folder).to_contain_text("You trust these files as they are now")
    rules = page.get_by_role("region", name="Policy rules")
    expect(rules).to_contain_text("This folder is trusted")
    (place / "policy.toml").write_text("")
    press(page, "Settings")
    expect(folder).to_contain_text("You do not trust these files")
    (place / "policy.toml").write_text('deny = ["Bash(curl)"]\n')
    press(page, "Trust these files")
    press(page, "Yes, trust them")
    expect(page.locator("#notes")).to_contain_text("not those of that digest")


def test_what_was_loosened_meanwhile_counts_when_it_is_accepted(serve: Serve, visit: Visit) -> None:
    accesses = [call("Bash", command="touch made")]
    server = serve([{"text": "one"}], accesses, [{"text": "two"}], accesses, [{"text": "three"}])
    page = visit(server)
    message = page.get_by_role("textbox", name="Message")
    message.fill("go")
    message.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("one")
    policy = server.home / ".config" / "wcore" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\nmatch = "Bash(touch *)"\ndo = "allow"\n')
    message.fill("again")
    message.press("Enter")
    card(page, "Bash")
    press(page, "Deny")
    expect(page.get_by_role("log")).to_contain_text("two")
    expect(page.get_by_role("log")).to_contain_text("`Bash(touch *)` is allowed")
    press(page, "Let it count now")
    press(page, "Yes, let them count")
    expect(page.locator("#notes")).to_contain_text("They count from now on.")
    assert not (server.workspace / "made").exists()
    message.fill("and again")
    message.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("three")
    assert (server.workspace / "made").exists()


def test_a_server_is_added_after_a_second_yes_used_and_removed(serve: Serve, visit: Visit) -> None:
    server = serve([call("mcp__odd__echo", text=EVIL)], [{"text": "over"}])
    page = visit(server)
    press(page, "Settings")
    servers = page.get_by_role("region", name="MCP servers", exact=True)
    expect(servers).to_contain_text("There are none.")
    servers.get_by_role("textbox", name="Name").fill("odd")
    servers.get_by_role("textbox", name="Program, or address").fill(sys.executable)
    servers.get_by_role("textbox", name="Arguments, one a line").fill(f"{ROGUE}\nplain")
    servers.get_by_role("button", name="Add…").click()
    expect(page.get_by_role("group", name="What starts")).to_contain_text("rogue.py")
    press(page, "Cancel")
    expect(servers).to_contain_text("There are none.")
    servers.get_by_role("button", name="Add…").click()
    press(page, "Yes, add it")
    expect(servers.get_by_role("row").nth(1)).to_contain_text("tools")
    servers.get_by_role("button", name="Remove odd").click()
    expect(servers).to_contain_text("There are none.")
    servers.get_by_role("textbox", name="Name").fill(EVIL)
    servers.get_by_role("textbox", name="Program, or address").fill("/no/such/program")
    servers.get_by_role("button", name="Add…").click()
    press(page, "Yes, add it")
    expect(servers.get_by_role("row").nth(1)).to_contain_text("not there")
    assert page.evaluate("() => window.pwned") is None
