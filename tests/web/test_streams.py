"""Tabs: what a page is told when it comes, and what becomes of one that does not read."""

import json
import socket

import pytest
import waiting
from talking import call
from wcore_host.web.event_log import LOG_BYTES_MAX, TABS_MAX, EventLog
from wcore_host.web.tabs import TAB_BYTES_MAX, Tab
from web.conftest import Serve
from web.served import Json, Served, until

BIG = 40  # megabytes that a tool prints: more than all buffers on the way hold


def told(tab: Tab) -> list[Json]:
    """Return what a tab has been told so far."""
    frames = [*tab.first, *tab.frames]
    return [json.loads(frame.partition(b"data: ")[2]) for frame in frames]


# --- the board, without a server ------------------------------------------------------------------


def test_a_page_that_comes_late_is_told_everything_and_pieces_of_a_text_as_one() -> None:
    board = EventLog()
    board.change(engine="running")
    for word in ("a", "b", "c"):
        board.post({"type": "text_delta", "msg_id": "m1", "text": word})
    board.post({"type": "thinking", "msg_id": "m1", "text": "hm"})
    board.post({"type": "text_delta", "msg_id": "m1", "text": "d"})
    events = told(board.open("p"))
    assert [(e["type"], e.get("text")) for e in events] == [
        ("host_hello", None),
        ("text_delta", "abc"),
        ("thinking", "hm"),
        ("text_delta", "d"),
    ]
    assert events[0]["engine"] == "running"
    assert events[0]["cut"] is False


def test_output_of_two_calls_is_not_mixed_up() -> None:
    board = EventLog()
    for call_id in ("c1", "c2", "c1"):
        board.post({"type": "tool_chunk", "msg_id": "m", "call_id": call_id, "chunk": call_id})
    assert [e["chunk"] for e in told(board.open("p"))[1:]] == ["c1", "c2", "c1"]


def test_the_log_is_bounded_and_says_that_its_beginning_is_gone() -> None:
    board = EventLog()
    for number in range(20):
        board.post({"type": "info", "msg_id": "", "message": f"{number}" + "x" * 1024 * 1024})
    for number in range(20):
        board.post({"type": "text_delta", "msg_id": "m", "text": f"{number}" + "x" * 1024 * 1024})
    tab = board.open("p")
    events = told(tab)
    assert events[0]["cut"] is True
    assert events[-1]["text"].startswith("19")
    assert sum(len(frame) for frame in tab.first) <= LOG_BYTES_MAX + 4096


def test_a_tab_that_does_not_read_is_dropped_and_forgets_what_it_held() -> None:
    board = EventLog()
    slow, other = board.open("slow"), board.open("other")
    other.first = ()
    for _ in range(TAB_BYTES_MAX // (1024 * 1024) + 1):
        board.post({"type": "info", "msg_id": "", "message": "x" * 1024 * 1024})
        other.frames.clear()
        other.waiting_bytes = 0
    assert slow.dropped.is_set()
    assert not slow.frames
    assert not other.dropped.is_set()
    board.post({"type": "pong"})
    assert not slow.frames


def test_there_are_only_so_many_tabs_and_the_newest_stay() -> None:
    board = EventLog()
    tabs = [board.open(str(number)) for number in range(TABS_MAX + 1)]
    assert tabs[0].dropped.is_set()
    assert not any(tab.dropped.is_set() for tab in tabs[1:])


def test_a_line_end_in_a_text_cannot_end_a_frame() -> None:
    board = EventLog()
    tab = board.open("p")
    board.post({"type": "info", "msg_id": "", "message": "a\n\ndata: {}\r\n\u2028\u0085b"})
    (frame,) = tab.frames
    assert frame.startswith(b"id: 1\ndata: ")
    assert frame.count(b"\n") == 3
    assert frame.endswith(b"}\n\n")


# --- a real server --------------------------------------------------------------------------------


def test_a_reload_brings_a_pending_question_back_with_the_time_it_has_left(serve: Serve) -> None:
    server = serve([call("Bash", "c1", command="touch made")], [{"text": "over"}])
    token = server.enter()
    with server.events(token) as events:
        server.post("/api/say", {"type": "message", "msg_id": "m1", "content": "go"}, token)
        asked = until(events, "tool_request")
    with server.events(token) as events:
        assert until(events, "host_said")["text"] == "go"
        assert until(events, "tool_request")["call_id"] == asked["call_id"]
        (again,) = until(events, "host_pending")["calls"]
        assert again["digest"] == asked["digest"]
        assert 0 < again["expires_in_s"] <= asked["expires_in_s"]
        server.post("/api/say", {"type": "tool_deny", "call_id": asked["call_id"]}, token)
        assert until(events, "call_settled")["outcome"] == "denied"
        until(events, "stream_end")
    assert not (server.workspace / "made").exists()


def test_of_two_pages_the_first_answer_counts_and_the_other_is_told(serve: Serve) -> None:
    server = serve([call("Bash", "c1", command="touch made")], [{"text": "over"}])
    one, two = server.enter(), server.enter()
    with server.events(one) as events:
        server.post("/api/say", {"type": "message", "msg_id": "m1", "content": "go"}, one)
        call_id = until(events, "tool_request")["call_id"]
        assert server.post("/api/say", {"type": "tool_deny", "call_id": call_id}, one)[0] == 200
        assert until(events, "call_settled")["outcome"] == "denied"
        status, answer = server.post("/api/say", {"type": "tool_approve", "call_id": call_id}, two)
        assert status == 409
        assert "answered already" in answer["error"]
        until(events, "stream_end")
    assert not (server.workspace / "made").exists()


def test_a_message_during_a_turn_is_refused_and_the_turn_goes_on(serve: Serve) -> None:
    server = serve([call("Bash", "c1", command="true")], [{"text": "over"}])
    token = server.enter()
    with server.events(token) as events:
        server.post("/api/say", {"type": "message", "msg_id": "m1", "content": "go"}, token)
        call_id = until(events, "tool_request")["call_id"]
        second = {"type": "message", "msg_id": "m2", "content": "me too"}
        assert server.post("/api/say", second, token)[0] == 409
        server.post("/api/say", {"type": "tool_approve", "call_id": call_id}, token)
        assert until(events, "stream_end")["msg_id"] == "m1"
    with server.events(token) as events:
        assert until(events, "host_said")["msg_id"] == "m1"
        for event in events:
            assert event["type"] != "host_said"
            if event["type"] == "host_pending":
                break


def test_a_page_that_reads_nothing_holds_up_neither_engine_nor_other_pages(serve: Serve) -> None:
    text = [{"text": "x" * 1024 * 1024, "repeat": BIG}]
    server = serve(text, [{"text": "still here"}])
    token = server.enter()
    request = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Wcore-Token: {token}"
    with socket.create_connection(("127.0.0.1", server.port), waiting.PATIENCE_S) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(f"{request}\r\n\r\n".encode())
        assert deaf.recv(100)
        with server.events(token) as events:
            server.post("/api/say", {"type": "message", "msg_id": "m1", "content": "go"}, token)
            until(events, "stream_end", msg_id="m1")
            server.post("/api/say", {"type": "message", "msg_id": "m2", "content": "?"}, token)
            assert until(events, "text_delta", msg_id="m2")["text"] == "still here"
            until(events, "stream_end", msg_id="m2")
    with server.events(token) as events:
        assert until(events, "host_hello")["cut"] is True, "it may come again"
    assert server.stop() == 0


@pytest.mark.parametrize("said", [b"", b"GET /api/events HTTP/1.1\r\nHost:", b"\x00" * 100])
def test_a_broken_connection_harms_nobody(server: Served, said: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), waiting.PATIENCE_S) as line:
        line.sendall(said)
        with server.events(server.enter()) as events:
            until(events, "host_pending")


def test_a_page_that_leaves_in_the_middle_is_forgotten(server: Served) -> None:
    token = server.enter()
    for _ in range(TABS_MAX + 2):
        with server.events(token) as events:
            until(events, "host_hello")
    with server.events(token) as events:
        until(events, "host_pending")


def test_a_message_with_half_a_character_is_a_turn_like_any_other(serve: Serve) -> None:
    server = serve([{"text": "one"}], [{"text": "two"}])
    token = server.enter()
    with server.events(token) as stream:
        for number, content in enumerate(("cut \ud83d", "whole")):
            said = {"type": "message", "msg_id": f"m{number}", "content": content}
            assert server.post("/api/say", said, token)[0] == 200, content
            until(stream, "stream_end", msg_id=f"m{number}")
        odd = {"type": "message", "msg_id": "m9", "content": "x", "files": [float("inf")]}
        assert server.post("/api/say", odd, token)[0] in (400, 409)
        last = {"type": "message", "msg_id": "m3", "content": "again"}
        assert server.post("/api/say", last, token)[0] == 200, "what was refused is no turn"


@pytest.mark.parametrize("path", ["say", "ask", "start", "files", "records/audit", "enter"])
def test_a_page_that_goes_away_while_it_sends_is_no_news(serve: Serve, path: str) -> None:
    server = serve([{"text": "over"}])
    token = server.enter()
    for sent in (b"", b'{"type"'):
        with socket.create_connection(("127.0.0.1", server.port)) as page:
            head = f"POST /api/{path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            head += (
                f"Origin: {server.base}\r\nX-Wcore-Token: {token}\r\nContent-Length: 1000\r\n\r\n"
            )
            page.sendall(head.encode() + sent)
    server.new_code()  # answered after them
    server.stop()
    assert server.said == ""
