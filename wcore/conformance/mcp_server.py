"""A small MCP server for the cases: `add` and `multiply`, over stdin and stdout. Run with `-m`.

With the name of a file it fails, and leaves that file, where it is not there yet.
"""

import json
import sys
from pathlib import Path

from wcore.conformance.json_object import JsonObject

TOOLS: list[JsonObject] = [
    {
        "name": name,
        "description": about,
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    }
    for name, about in (("add", "Adds two numbers."), ("multiply", "Multiplies two numbers."))
]


def answer(request: JsonObject) -> JsonObject | None:
    """Return the result of a request; a notification has none."""
    match request.get("method"):
        case "initialize":
            version = request["params"].get("protocolVersion", "2025-06-18")
            server = {"name": "conformance", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            given = request["params"]["arguments"]
            if given.get("die"):
                sys.exit(3)
            if given.get("hang"):
                return None
            a, b = given["a"], given["b"]
            text = str(a * b if request["params"]["name"] == "multiply" else a + b)
            return {"content": [{"type": "text", "text": text}], "isError": False}
        case _:
            return {} if "id" in request else None


def main() -> None:
    """Serve until the end of input."""
    for name in sys.argv[1:]:
        if not Path(name).exists():
            Path(name).touch()
            sys.exit(4)
    for line in sys.stdin:
        request = json.loads(line)
        result = answer(request)
        if result is not None:
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
