"""What strangers get: nothing. Every request here is sent byte by byte to a real server."""

import json
import socket
from contextlib import closing
from pathlib import Path

import pytest
import waiting
from web.conftest import Serve
from web.served import Served

API = (
    "/api/say",
    "/api/ask",
    "/api/link",
    "/api/start",
    "/api/records/audit",
    "/api/records/policy",
)


def test_nothing_is_told_or_done_without_a_token(server: Served) -> None:
    token = server.enter()
    for path in API:
        assert server.post(path, {})[0] == 401, path
        assert server.post(path, {}, token="x" * len(token))[0] == 401, path
        assert server.post(path, {}, token=server.new_code())[0] == 401, path
    assert server.request("GET", "/api/events")[0] == 401
    assert server.request("GET", "/api/events", X_Wcore_Token=token + "x")[0] == 401


def test_a_token_counts_in_its_header_and_nowhere_else(server: Served) -> None:
    token = server.enter()
    ask = json.dumps({"type": "list_grants", "token": token}).encode()
    for headers in ({"Cookie": f"X-Wcore-Token={token}"}, {"Authorization": f"Bearer {token}"}):
        status, _, _ = server.request("POST", "/api/ask", ask, Origin=server.base, **headers)
        assert status == 401, headers
    path = f"/api/ask?X-Wcore-Token={token}"
    assert server.request("POST", path, ask, Origin=server.base)[0] == 401
    assert server.post("/api/ask", {"type": "list_grants"}, token)[0] == 200


def test_no_answer_sets_a_cookie_or_lets_another_origin_read_it(server: Served) -> None:
    answers = [
        server.request("GET", "/"),
        server.request("GET", "/static/app.js"),
        server.request("POST", "/api/enter", b"{}", Origin=server.base),
        server.request("POST", "/api/enter", b"{}", Origin="http://evil.example"),
        server.request("OPTIONS", "/api/say", Origin="http://evil.example"),
    ]
    for status, _, headers in answers:
        assert "set-cookie" not in headers
        assert not [name for name in headers if name.startswith("access-control-")], status
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil",
        "",
    ],
)
def test_another_host_gets_nothing_so_rebinding_a_name_does_not_help(
    server: Served, host: str
) -> None:
    named = host.format(port=server.port)
    for path in ("/", "/static/app.js", "/api/events"):
        status, body, _ = server.request("GET", path, Host=named)
        assert status == 421
        assert b"<" not in body
    code = server.new_code()
    body, origin = json.dumps({"code": code}).encode(), f"http://{named}"
    assert server.request("POST", "/api/enter", body, Host=named, Origin=origin)[0] == 421
    assert server.post("/api/enter", {"code": code})[0] == 200, "it was not used up"


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        "null",
        "https://127.0.0.1:{port}",
        "",
    ],
)
def test_a_post_of_another_origin_does_nothing_even_with_a_token(
    server: Served, origin: str
) -> None:
    token = server.enter()
    forged = origin.format(port=server.port)
    assert server.post("/api/link", {}, token, Origin=forged)[0] == 403
    code = json.dumps({"code": server.new_code()}).encode()
    assert server.request("POST", "/api/enter", code, Origin=forged)[0] == 403


def test_a_post_without_an_origin_does_nothing(server: Served) -> None:
    token = server.enter()
    assert server.request("POST", "/api/link", b"{}", X_Wcore_Token=token)[0] == 403


def test_two_hosts_origins_or_tokens_are_none(server: Served) -> None:
    token = server.enter()
    for repeated in ("Host", "Origin", "X-Wcore-Token"):
        given = {"Host": f"127.0.0.1:{server.port}", "Origin": server.base, "X-Wcore-Token": token}
        lines = [f"{name}: {value}\r\n" for name, value in given.items()]
        lines.append(f"{repeated}: {given[repeated]}\r\n")
        lines.append("Content-Length: 2\r\nConnection: close\r\n\r\n{}")
        with socket.create_connection(("127.0.0.1", server.port), waiting.PATIENCE_S) as line:
            line.sendall(("POST /api/link HTTP/1.1\r\n" + "".join(lines)).encode())
            assert line.makefile("rb").readline().split()[1] in (b"400", b"401", b"403", b"421")


@pytest.mark.parametrize(
    ("path", "status", "changed"),
    [
        ("/api/say", 401, {"X-Wcore-Token": "no"}),
        ("/api/say", 403, {"Origin": "http://evil.example"}),
        ("/api/say", 421, {"Host": "evil.example"}),
        ("/api/none", 404, {}),
        ("/", 405, {}),
    ],
)
def test_a_refusal_before_the_body_reaches_who_is_still_sending_it(
    server: Served, path: str, status: int, changed: dict[str, str]
) -> None:
    headers = {"X-Wcore-Token": server.enter(), "Origin": server.base, "Content-Length": "2"}
    connection = server.connect()
    with closing(connection):
        connection.putrequest("POST", path, skip_host="Host" in changed)
        for name, value in {**headers, **changed}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
        connection.send(b"{}")
        connection.request("POST", "/api/link", b"{}", headers)
        assert connection.getresponse().status == 200, "the same connection goes on"


def test_what_browsers_say_about_other_sites_is_believed(server: Served) -> None:
    for site in ("cross-site", "same-site"):
        assert server.request("GET", "/static/app.js", Sec_Fetch_Site=site)[0] == 403
        headers = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": "no-cors"}
        assert server.request("GET", "/", **headers)[0] == 403
        headers["Sec_Fetch_Mode"] = "navigate"
        assert server.request("GET", "/", **headers)[0] == 200, "a link may lead to us"
    assert server.request("GET", "/static/app.js", Sec_Fetch_Site="same-origin")[0] == 200


def test_the_name_that_pages_share_is_one_for_a_lock(server: Served) -> None:
    """Browsers have no locks of names that begin with a dash."""
    _, answer = server.post("/api/enter", {"code": server.new_code()})
    assert set(answer["channel"]) <= set("0123456789abcdef")


def test_a_code_works_once(server: Served) -> None:
    code = server.new_code()
    assert server.post("/api/enter", {"code": code})[0] == 200
    status, answer = server.post("/api/enter", {"code": code})
    assert status == 403
    assert "used already" in answer["error"]


def test_the_code_is_in_no_argument_of_any_process_and_in_no_log(serve: Serve) -> None:
    server = serve()
    seen = 0
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert server.code.encode() not in command.read_bytes()
            seen += 1
        except OSError:
            continue  # it ended meanwhile
    assert seen
    server.request("GET", f"/?code={server.code}")
    server.stop()
    assert server.said == ""


def test_the_page_has_another_nonce_every_time_and_allows_nothing_else(server: Served) -> None:
    policies: set[str] = set()
    for _ in range(2):
        _, body, headers = server.request("GET", "/")
        policy = headers["content-security-policy"]
        policies.add(policy)
        nonce = policy.partition("'nonce-")[2].partition("'")[0]
        assert body.decode().count(f'nonce="{nonce}"') == 4
        assert "{{nonce}}" not in body.decode()
        for needed in ("default-src 'none'", "require-trusted-types-for 'script'"):
            assert needed in policy
        assert "unsafe" not in policy
    assert len(policies) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2f__main__.py",
        "/static/../__main__.py",
        "/static/index.html",
        "/static/types.d.ts",
    ],
)
def test_only_assets_are_served(server: Served, path: str) -> None:
    assert server.request("GET", path)[0] == 404


def test_a_body_that_is_too_long_or_no_object_is_refused(server: Served) -> None:
    token = server.enter()
    assert server.post("/api/enter", {"code": "x" * 5000})[0] == 400
    for body in (b"[]", b"", b"nonsense", b'"x"', b"[" * 100_000, b"\xff"):
        given = {"Origin": server.base, "X_Wcore_Token": token}
        assert server.request("POST", "/api/say", body, **given)[0] == 400, body[:9]


def test_a_page_cannot_send_what_it_has_no_use_for(server: Served) -> None:
    token = server.enter()
    for kind in ("init_history", "approval_resume", "ping", "", None, 7):
        for path in ("/api/say", "/api/ask"):
            assert server.post(path, {"type": kind}, token)[0] == 409, (path, kind)


def test_it_listens_on_loopback_only(server: Served) -> None:
    port = f":{server.port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [words[1] for words in lines if words[3] == "0A" and words[1].endswith(port)]
    assert listening == [f"0100007F{port}"]
    tcp6 = [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    assert not [words for words in tcp6 if words[3] == "0A" and words[1].endswith(port)]
