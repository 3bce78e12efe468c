"""Settings and records: what is shown is what the engine and the command line say."""

from collections.abc import Callable

from playwright.sync_api import Page, expect
from talking import call
from web.conftest import Serve
from web.test_page import card, no_card, press, say

Visit = Callable[..., Page]
POLICY = """\
deny = ["Bash(curl)"]
[[rule]]
match = "Bash(git <b>)"
do = "ask"
"""


def test_a_tool_is_blocked_and_the_model_is_told_that_it_is_unknown(
    serve: Serve, visit: Visit
) -> None:
    server = serve([call("Bash", command="touch made")], [{"echo": True}])
    page = visit(server)
    press(page, "Settings")
    tools = page.get_by_role("region", name="Tools")
    tools.get_by_role("combobox", name="What Bash may do").select_option("Blocked")
    expect(tools.get_by_role("row").filter(has_text="Bash")).to_contain_text("chosen")
    expect(tools.get_by_role("row").filter(has_text="Read")).to_contain_text("mode and rules")
    press(page, "Chat")
    say(page, "go")
    expect(page.get_by_role("log")).to_contain_text('"tool": "Bash", "status": "error"')
    press(page, "Settings")
    tools.get_by_role("combobox", name="What Bash may do").select_option("Not set")
    expect(tools.get_by_role("row").filter(has_text="Bash")).to_contain_text("mode and rules")
    assert not (server.workspace / "made").exists()


def test_always_allowing_a_command_takes_a_second_yes_and_then_it_runs_unasked(
    serve: Serve, visit: Visit
) -> None:
    server = serve([call("Bash", command="touch made")], [{"text": "all is finished"}])
    page = visit(server)
    press(page, "Settings")
    mine = page.get_by_role("checkbox", name="Always allow Bash, for me")
    mine.click()
    press(page, "Cancel")
    expect(mine).not_to_be_checked()
    mine.click()
    press(page, "Yes, always allow")
    expect(mine).to_be_checked()
    press(page, "Chat")
    say(page, "go")
    expect(page.get_by_role("log")).to_contain_text("all is finished")
    assert (server.workspace / "made").exists()


def test_the_rules_are_listed_with_their_places(serve: Serve, visit: Visit) -> None:
    server = serve()
    place = server.home / ".config" / "wcore"
    place.mkdir(parents=True)
    (place / "policy.toml").write_text(POLICY)
    page = visit(server)
    press(page, "Settings")
    rules = page.get_by_role("region", name="Policy rules")
    expect(rules.get_by_role("row").nth(1)).to_contain_text("denyBash(curl)")
    expect(rules.get_by_role("row").nth(1)).to_contain_text("policy.toml:1")
    expect(rules.get_by_role("row").nth(2)).to_contain_text("askBash(git <b>)")
    (place / "policy.toml").write_text("default = 7")
    press(page, "Settings")
    expect(rules).to_contain_text("policy.toml:1:")


def test_decisions_are_searched_verified_and_drawn(serve: Serve, visit: Visit) -> None:
    calls = [call("Bash", "c1", command="true"), call("LS", "c2", path=".")]
    server = serve(calls, [{"text": "over"}])
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    page.get_by_text("Deny and say why…").click()
    page.get_by_role("textbox", name="What should it do instead?").fill("not <i>now</i>")
    press(page, "Deny with these words")
    no_card(page)
    press(page, "Records")
    decisions = page.get_by_role("region", name="Decisions", exact=True)
    expect(decisions).to_contain_text("2 decisions.")
    expect(decisions.get_by_role("row").filter(has_text="Bash")).to_contain_text("“not <i>now</i>”")
    expect(page.get_by_role("img", name="By outcome")).to_be_visible()
    chain = page.get_by_role("region", name="Is the record whole?")
    expect(chain).to_contain_text("Intact · 2 decisions")
    decisions.get_by_role("searchbox", name="Words").fill("mode")
    press(page, "Search")
    expect(decisions).to_contain_text("1 decisions.")
    expect(decisions.get_by_role("row")).to_have_count(2)
    expect(decisions.get_by_role("row").nth(1)).to_contain_text("LS")
    decisions.get_by_role("textbox", name="Tool").fill("--help")
    press(page, "Search")
    expect(decisions).to_contain_text("No decision fits.")


def test_a_tool_of_a_sub_agent_is_blocked(serve: Serve, visit: Visit) -> None:
    spawn = call("Spawn", "s1", task="look")
    ls = call("Bash", command="touch made")
    server = serve([spawn], [ls], [{"text": "hm"}], [{"text": "over"}])
    page = visit(server)
    say(page, "go")
    card(page, "Spawn")
    press(page, "Allow once")
    card(page, "Bash")
    press(page, "Settings")
    tools = page.get_by_role("region", name="Tools")
    expect(tools.locator("datalist option")).to_have_count(2)
    tools.get_by_role("combobox", name="Agent").fill("general")
    tools.get_by_role("combobox", name="Agent").press("Enter")
    expect(tools).to_contain_text("Agent general")
    tools.get_by_role("combobox", name="What Bash may do").select_option("Blocked")
    expect(tools.get_by_role("row").filter(has_text="Bash")).to_contain_text("chosen")
    press(page, "Chat")
    no_card(page)
    expect(page.get_by_role("log")).to_contain_text("Bash is not offered")
    assert not (server.workspace / "made").exists()
