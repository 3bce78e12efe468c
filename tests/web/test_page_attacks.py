"""Hostile texts in every field, a hostile page on another port, an engine that dies."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hosts.places import FAKE_ENGINE
from playwright.sync_api import Page, expect
from web.conftest import Serve
from web.test_page import DEAF_MS, card, press, say

Visit = Callable[..., Page]
HOSTILE = Path(__file__).parent / "hostile_engine.py"
INNOCENT = (Path(__file__).parent / "innocent.js").read_text()
ATTACK = (Path(__file__).parent / "attack.js").read_text()


def check_innocent(page: Page) -> None:
    """Assert that nothing hostile has become more than text."""
    found = page.evaluate(INNOCENT)
    assert found["pwned"]
    assert found["foreign"] == []
    assert not [href for href in found["links"] if not href.startswith(("https://", "#"))]
    assert not found["hidden"], "control and direction characters are shown as what they are"


def engine(path: Path, *more: str) -> tuple[str, ...]:
    return ("--engine", " ".join([sys.executable, "-P", str(path), *more]))


def test_no_field_of_an_event_becomes_markup_or_hides_what_it_is(
    serve: Serve, visit: Visit
) -> None:
    page = visit(serve(flags=engine(HOSTILE)))
    say(page, "<img src=x onerror='window.pwned=1'>")
    for _ in range(4):
        page.wait_for_selector(".card")
        page.wait_for_timeout(DEAF_MS)
        for summary in page.locator(".card summary").all():
            summary.click()
        expect(page.locator(".card")).to_contain_text("<script>window.pwned=1</script>")
        expect(page.locator(".card")).to_contain_text("⟨U+202E⟩")
        check_innocent(page)
        for field in page.locator(".card .change textarea").all():
            assert "\u202e" not in field.input_value()
            assert "\\u202e" in field.input_value()
        press(page, "Show it with these changes")
        expect(page.locator(".card")).not_to_contain_text("Changed by you")
        page.wait_for_timeout(DEAF_MS)
        page.get_by_text("Change it first…").click()
        page.locator(".card .change textarea").first.fill('"<script>window.pwned=1</script>"')
        press(page, "Show it with these changes")
        expect(page.locator(".card")).to_contain_text("Changed by you")
        check_innocent(page)
        page.wait_for_timeout(DEAF_MS)
        press(page, "Deny")
    page.wait_for_timeout(DEAF_MS)
    expect(page.locator(".card .asked")).to_contain_text("onload=window.pwned=1")
    check_innocent(page)
    page.evaluate("() => document.querySelectorAll('.call').forEach((call) => (call.open = true))")
    expect(page.locator("#transcript")).to_contain_text("⟨U+001B⟩[31m")
    check_innocent(page)
    for view in ("Settings", "Records"):
        press(page, view)
        page.wait_for_timeout(DEAF_MS)
        check_innocent(page)


def test_a_crash_is_said_plainly_and_a_new_session_can_be_started(
    serve: Serve, visit: Visit
) -> None:
    page = visit(serve(flags=engine(FAKE_ENGINE, "crash_at_card")))
    say(page, "go")
    card(page, "Bash")
    press(page, "Deny")
    gone = page.get_by_text("The engine is gone")
    expect(gone).to_be_visible()
    expect(page.locator("#gone")).to_contain_text("was ended by signal 9")
    expect(page.locator(".card")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Message")).to_be_disabled()
    page.reload()
    expect(page.locator("#gone")).to_contain_text("was ended by signal 9")
    press(page, "Start a new one")
    expect(page.get_by_role("textbox", name="Message")).to_be_enabled()
    expect(gone).to_be_hidden()


class Evil(BaseHTTPRequestHandler):
    """A page that the agent itself might serve, on another port of this machine."""

    target = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>other</title>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        """Keep quiet."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of a hostile server on another port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_page_on_another_port_gets_nothing(serve: Serve, visit: Visit, elsewhere: str) -> None:
    server = serve()
    page = visit(server)
    token = page.evaluate("() => sessionStorage.getItem('wcore-token')")
    other = page.context.new_page()
    other.goto(elsewhere)
    said = other.evaluate(ATTACK, [server.base, token])
    assert set(said.values()) == {"failed"}, json.dumps(said, indent=1)
    assert page.context.cookies() == []


def test_a_used_link_opens_nothing_and_says_how_to_get_another(serve: Serve, visit: Visit) -> None:
    server = serve()
    link = server.new_link()
    page = visit(server)
    first = page.context.browser
    assert first is not None
    for address in (link, link, server.base + "/"):
        stranger = first.new_context().new_page()
        stranger.goto(address)
        if address == link:
            link = server.base + "/#code=nonsense"
            expect(stranger.get_by_role("textbox", name="Message")).to_be_enabled()
            continue
        expect(stranger.get_by_role("log")).to_contain_text("link")
        expect(stranger.get_by_role("textbox", name="Message")).to_be_disabled()
        stranger.context.close()
