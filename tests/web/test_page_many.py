"""More pages than a browser opens connections: one has the stream, and every page can answer."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect
from talking import call
from web.conftest import Serve
from web.served import Served
from web.test_page import card, no_card, press, say

PAGES = 8  # browsers open six connections to a server
Visit = Callable[..., Page]


def more(context: BrowserContext, server: Served) -> Page:
    page = context.new_page()
    page.goto(server.new_link())
    expect(page.get_by_role("textbox", name="Message")).to_be_enabled()
    return page


def test_every_one_of_many_pages_loads_shows_and_answers(serve: Serve, visit: Visit) -> None:
    asks = [call("Bash", f"c{n}", command=f"echo {n} > made{n}") for n in range(3)]
    server = serve([{"text": "first"}], asks, [{"text": "second"}], [{"text": "third"}])
    first = visit(server)
    say(first, "before the others came")
    expect(first.get_by_role("log")).to_contain_text("first")
    pages = [first, *(more(first.context, server) for _ in range(PAGES - 1))]
    for page in pages:
        expect(page.get_by_role("log")).to_contain_text("first")
    say(pages[-1], "go")
    for number, page in enumerate(pages[-3:]):
        card(page, "Bash")
        expect(page.get_by_role("region", name="Bash")).to_contain_text(f"echo {number}")
        press(page, "Allow once")
    for page in pages:
        no_card(page)
        expect(page.get_by_role("log")).to_contain_text("second")
        expect(page.get_by_role("log").get_by_text("second", exact=True)).to_have_count(1)
    assert (server.workspace / "made2").read_text() == "2\n"
    first.close()  # it had the stream; another one has it from now on
    say(pages[3], "and now")
    for page in pages[1:]:
        expect(page.get_by_role("log").get_by_text("third", exact=True)).to_have_count(1)
        expect(page.get_by_role("log").get_by_text("first", exact=True)).to_have_count(1)
    pages[4].reload()
    expect(pages[4].get_by_role("log")).to_contain_text("third")
