"""How often a person is asked while a model works on a project, by mode.

`python tests/bench/bench_questions.py python FOLDER` plays the calls of `projects/python.jsonl` to
an engine in a copy of FOLDER, a git repository of such a project: once in each way below. Every
card is answered with yes. It needs the network: packages are installed. What was asked in
`auto_run` is shown.

The calls were written for pluggy 1.5.0, commander 9.4.1 and lua 5.4.4, as their sources come.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HELD = ("--sandbox", "required")
#: With a lasting yes a prefix is granted, where the card offers one.
WAYS = {
    "default": ((), False),
    "auto_edit, with lasting yeses": (("--mode", "auto_edit"), True),
    "auto_run": (("--mode", "auto_run", *HELD), False),
    "auto_run, with lasting yeses": (("--mode", "auto_run", *HELD), True),
}


def prefix_of(card: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a card that lasts as long as one may."""
    for scope in card.get("suggestions", []):
        for form in ("always_prefix", "always_prefixes"):
            if form in scope:
                return {"scope": {form: {k: v for k, v in scope[form].items() if k != "note"}}}
    return {}


def asked(folder: Path, calls: list[dict[str, Any]], flags: tuple[str, ...], lasts: bool) -> None:
    with TemporaryDirectory(dir="/var/tmp") as above:
        workspace, script = Path(above) / "project", Path(above) / "script.jsonl"
        shutil.copytree(folder, workspace, symlinks=True)
        says = [{"say": [{"call": each}]} for each in calls] + [{"say": [{"text": "done"}]}]
        script.write_text("".join(f"{json.dumps(each)}\n" for each in says))
        argv = [sys.executable, "-P", "-m", "wcore", "--max-turns", "0", "--model"]
        state = {"XDG_STATE_HOME": f"{above}/state"}
        process = subprocess.Popen(
            [*argv, f"script:{script}", *flags],
            cwd=workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **state},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        stdin = process.stdin

        def say(**command: object) -> None:
            stdin.write(json.dumps(command).encode() + b"\n")
            stdin.flush()

        cards, ends = list[dict[str, Any]](), Counter[str]()
        with process:
            say(type="message", msg_id="m1", content="go")
            for line in process.stdout:
                match json.loads(line):
                    case {"type": "tool_request", "call_id": call_id} as card:
                        cards.append(card)
                        more = prefix_of(card) if lasts else {}
                        say(type="tool_approve", call_id=call_id, **more)
                    case {"type": "tool_result", "status": status}:
                        ends[status] += 1
                    case {"type": "stream_end"}:
                        break
                    case _:
                        pass
            stdin.close()
    rows = Counter(card["why"]["row"] for card in cards)
    print(f"  {len(cards):3} of {len(calls)} asked {dict(rows)}, ended {dict(ends)}")
    for card in cards if HELD[0] in flags else []:
        print(f"      {card['tool']['description']}")


def main(kind: str, folder: str) -> None:
    lines = (Path(__file__).parent / "projects" / f"{kind}.jsonl").read_text().splitlines()
    for name, (flags, lasts) in WAYS.items():
        calls = list(map(json.loads, lines))
        for each in calls if HELD[0] not in flags else []:
            each["args"].pop("hosts", None)  # there is nothing to ask for
        print(name)
        asked(Path(folder), calls, flags, lasts)


if __name__ == "__main__":
    main(*sys.argv[1:])
