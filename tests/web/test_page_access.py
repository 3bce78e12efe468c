"""Everybody can use it: axe finds nothing, in light and dark, wide and narrow, view by view."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect
from talking import call
from web.conftest import Serve
from web.test_page import card, press, say

Visit = Callable[..., Page]
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
CHECK = "() => axe.run({resultTypes: ['violations']}).then((r) => r.violations)"
NARROW: ViewportSize = {"width": 360, "height": 740}

pytestmark = pytest.mark.skipif(
    not AXE.exists(), reason="there is no axe-core: npm install --no-save axe-core"
)


def check(page: Page, where: str) -> None:
    """Assert that axe finds nothing and that the page is not wider than its window."""
    page.evaluate(AXE.read_text())
    violations = page.evaluate(CHECK)
    told = [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in violations]
    assert told == [], f"{where}: {json.dumps(told, indent=1)}"
    fits = (
        "() => [document.documentElement, document.body].every((e) => e.scrollWidth <= innerWidth"
    )
    assert page.evaluate(f"{fits} && e.scrollHeight <= innerHeight)"), f"{where}: the page scrolls"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(serve: Serve, visit: Visit, scheme: str) -> None:
    edit = call("Edit", file_path="a.py", old_string="x = 1", new_string='x = "two"  # now')
    text = {"text": "# Plan\n\n| a | b |\n|--|--|\n| `1` | [x](https://a.b) |\n\n```py\nx\n```\n"}
    shell = call("Bash", command="git log > x")
    ask = call("AskUserQuestion", question="Which?", options=[{"label": "one"}, {"label": "two"}])
    server = serve([{"thinking": "hm"}, text, edit, shell, ask], [{"text": "over"}])
    (server.workspace / "a.py").write_text("x = 1\n")
    page = visit(server, color_scheme=scheme)
    check(page, "empty")
    say(page, "go")
    for name in ("Edit", "Bash", "AskUserQuestion"):
        card(page, name if name != "AskUserQuestion" else "A question")
        page.evaluate("() => document.querySelectorAll('details').forEach((d) => (d.open = true))")
        check(page, name)
        page.set_viewport_size(NARROW)
        check(page, f"{name}, narrow")
        page.set_viewport_size({"width": 1100, "height": 800})
        page.evaluate("() => document.querySelectorAll('details').forEach((d) => (d.open = false))")
        if name != "AskUserQuestion":
            press(page, "Allow once")
    page.get_by_role("radio", name="two").check()
    press(page, "Send the answer")
    expect(page.get_by_role("log")).to_contain_text("over")
    press(page, "Mode: read only")
    check(page, "mode")
    press(page, "Cancel")
    press(page, "Settings")
    expect(page.get_by_role("region", name="Policy rules")).to_contain_text("no policy files")
    check(page, "settings")
    press(page, "Records")
    expect(page.get_by_role("region", name="Sessions", exact=True)).to_contain_text("in use")
    check(page, "records")
    page.set_viewport_size(NARROW)
    check(page, "records, narrow")


def test_everything_that_can_be_pressed_can_be_reached_by_key(serve: Serve, visit: Visit) -> None:
    server = serve([call("Bash", command="git log")], [{"text": "over"}])
    page = visit(server)
    say(page, "go")
    card(page, "Bash")
    page.keyboard.press("F6")
    reached: list[str] = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("() => document.activeElement.textContent || document.activeElement.id")
        )
    for needed in ("Allow once", "Deny", "Allow and remember…", "Deny and say why…", "Stop"):
        assert needed in reached, reached
    page.keyboard.press("F6")
    expect(page.get_by_role("heading", name="Bash")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#cards > *")).to_have_count(0)
    expect(page.get_by_role("log")).to_contain_text("over")
