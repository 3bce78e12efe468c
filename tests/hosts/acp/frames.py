"""Frames of ACP held against its own JSON Schema, which comes with the npm SDK.

Not only "some message": the parameters of a request against the definition of that very method,
the result against the one of its response.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
from talking import ROOT

Frame = dict[str, Any]

NODE_MODULES: Final = Path(os.environ.get("WCORE_NODE_MODULES") or ROOT / "node_modules")
SCHEMA: Final = NODE_MODULES / "@agentclientprotocol/sdk/schema/v1/schema.json"
WHY: Final = "no ACP schema: npm install --no-save @agentclientprotocol/sdk, or WCORE_NODE_MODULES"
JSON_RPC: Final = {"2.0"}


def is_there() -> bool:
    return SCHEMA.is_file()


def check(direction: str, frame: Frame) -> None:
    """Assert that `frame` is a message that this side ("agent" or "client") may send."""
    assert frame["jsonrpc"] in JSON_RPC
    if "method" in frame:
        kind = "Request" if "id" in frame else "Notification"
        receiver = "client" if direction == "agent" else "agent"
        _valid(receiver, frame["method"], kind, frame.get("params"))
    elif "error" in frame and is_there():
        _validate("Error", frame["error"])


def check_answers(exchanged: list[tuple[str, Frame]]) -> None:
    """Assert that every result fits its request, and that every request got one answer."""
    asked: dict[tuple[str, int], str] = {}
    for direction, frame in exchanged:
        if "method" in frame and "id" in frame:
            asked[(direction, frame["id"])] = frame["method"]
        elif "id" in frame:
            asker = "client" if direction == "agent" else "agent"
            method = asked.pop((asker, frame["id"]))
            if "result" in frame:
                _valid(
                    "agent" if asker == "client" else "client", method, "Response", frame["result"]
                )


def _valid(side: str, method: str, kind: str, value: Any) -> None:
    if is_there():
        side = "protocol" if method.startswith("$/") else side
        name = _names()[(side, method, kind)]
        _validate(name, value)


def _validate(name: str, value: Any) -> None:
    problems = [problem.message for problem in _validator(name).iter_errors(value)]
    assert not problems, f"{name}: {problems} in {value}"


@cache
def _schema() -> Frame:
    loaded: Frame = json.loads(SCHEMA.read_text())
    return loaded


@cache
def _names() -> dict[tuple[str, str, str], str]:
    """Map side, method and kind to the name of the definition."""
    kinds = ("Request", "Response", "Notification")
    return {
        (body["x-side"], body["x-method"], kind): name
        for name, body in _schema()["$defs"].items()
        for kind in kinds
        if "x-method" in body and name.endswith(kind)
    }


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        {"$ref": f"#/$defs/{name}", "$defs": _schema()["$defs"]}
    )


def directed(trace: list[Frame]) -> list[tuple[str, Frame]]:
    """Return frames with who sent them: an answer belongs to the last open request of its id."""
    found: list[tuple[str, Frame]] = []
    open_requests: list[tuple[int, str]] = []
    from_client = {method for side, method, _ in _names() if side == "agent"}
    for frame in trace:
        if "method" in frame:
            sender = "client" if frame["method"] in from_client else "agent"
            if "id" in frame:
                open_requests.append((frame["id"], sender))
        else:
            asked = next(a for a in reversed(open_requests) if a[0] == frame["id"])
            open_requests.remove(asked)
            sender = "agent" if asked[1] == "client" else "client"
        found.append((sender, frame))
    return found
