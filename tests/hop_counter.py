"""An engine that writes down which functions a command goes through: `hop_counter.py FILE …`.

For every event, and for every command but the first with an empty event, one JSON line: the last
command that was decoded before, and the functions of wcore that the loop's thread has begun since;
without the standard streams and what lies behind the store, whose way is another.
"""

import dis
import json
import sys
from pathlib import Path
from types import FrameType

import wcore
from wcore.__main__ import main
from wcore.protocol import codec

PACKAGE = str(Path(wcore.__file__).parent) + "/"
RESUME = dis.opmap["RESUME"]
LEFT_OUT = (PACKAGE + "stdio.py", PACKAGE + "store/")


def count_into(file: Path) -> None:
    """Start to count; ends with the process."""
    command = ""
    entered: dict[str, None] = {}
    decode, encode = codec.decode.__code__, codec.encode.__code__

    def write(event: str) -> None:
        line = {"command": command, "event": event, "functions": list(entered)}
        with file.open("a") as out:
            out.write(json.dumps(line) + "\n")

    def note(frame: FrameType, what: str, value: object) -> None:
        nonlocal command
        code = frame.f_code
        if what == "return" and code is decode:
            if command:
                write("")
            command = str(getattr(value, "type", ""))
            entered.clear()
        elif what != "call" or not code.co_filename.startswith(PACKAGE):
            return
        elif code is encode:
            write(frame.f_locals["event"].type)
        elif _begins(frame) and not code.co_filename.startswith(LEFT_OUT):
            entered[f"{code.co_filename.removeprefix(PACKAGE)}:{code.co_qualname}"] = None

    sys.setprofile(note)  # of this thread only


def _begins(frame: FrameType) -> bool:
    """Whether a function begins; not a coroutine that goes on or is cancelled."""
    code, at = frame.f_code.co_code, frame.f_lasti
    starts = code[at] == RESUME and not code[at + 1] & 3  # its argument: 0 is a start
    return starts and not frame.f_code.co_name.startswith("<")


if __name__ == "__main__":
    count_into(Path(sys.argv.pop(1)))
    main()
