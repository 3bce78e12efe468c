"""What tests of the web host need: servers, and a browser that nothing was downloaded for."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import waiting
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from talking import write_script
from web.served import CHROMIUM, Served

Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path, workspace: Path) -> Iterator[Serve]:
    """Start a server: `serve([call("Bash", …)], flags=(…))`; the lists are the model's replies."""
    with ExitStack() as stack:

        def start(*replies: list[object], flags: tuple[str, ...] = ()) -> Served:
            model = ("--model", f"script:{write_script(tmp_path, replies)}") if replies else ()
            return stack.enter_context(Served(workspace, tmp_path / "home", (*model, *flags)))

        yield start


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a module, with the built-in model."""
    workspace = tmp_path_factory.mktemp("workspace")
    with Served(workspace, tmp_path_factory.mktemp("home"), ()) as served:
        served.enter()
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's own Chromium, headless."""
    if not CHROMIUM:
        pytest.skip("there is no chromium: apt-get install chromium-headless-shell")
    expect.set_options(timeout=waiting.PATIENCE_S * 1000)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a server's page in a fresh profile: `visit(server)`. What goes wrong in it fails."""
    with ExitStack() as stack:
        problems: list[str] = []
        log: list[str] = []  # also what is no problem: for the case that the page does not come up

        def go(server: Served, **options: Any) -> Page:
            context = stack.enter_context(closing(browser.new_context(**options)))
            context.set_default_timeout(waiting.PATIENCE_S * 1000)
            page = context.new_page()
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("console", lambda said: problems.extend(_problem(said)))
            page.on("console", lambda said: log.append(said.text))
            page.on("requestfailed", lambda request: log.append(f"{request.url} {request.failure}"))
            page.goto(server.new_link())
            try:
                expect(page.get_by_role("textbox", name="Message")).to_be_enabled()
            except AssertionError as error:
                shown = page.locator("body").inner_text()
                raise AssertionError(f"the page shows {shown!r}; {log}") from error
            return page

        yield go
        assert problems == []


def _problem(said: ConsoleMessage) -> list[str]:
    """Return what the browser complains of, a breach of the page's policy above all."""
    expected = "Failed to load resource"  # our own refusals, which the page shows to people
    return [said.text] if said.type == "error" and not said.text.startswith(expected) else []
