"""The replies of a stored session as a script, to play the conversation again on today's engine.

The format is `protocol-spec/script-format.md`: a line such as `{"say": [{"text": "hi"}]}` is one
reply. Pure.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from wcore.persistence.records import as_list
from wcore.store import JournalRecord, Kind
from wcore.vocabulary import Json

_COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_BROKEN: Final = "{"  # for arguments that were no JSON object: only that is kept of them


def script(records: Iterable[JournalRecord]) -> Iterator[str]:
    """Yield the lines of a script, one for each reply, those of sub-agents among them."""
    for record in records:
        if record.kind is Kind.REPLIED:
            yield json.dumps({"say": list(_items(record.body))}, ensure_ascii=False)


def _items(reply: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    for kind in ("thinking", "text"):
        if reply.get(kind):
            yield {kind: reply[kind]}
    for call in as_list(reply.get("calls")):
        if isinstance(call, Mapping):
            args = call.get("args")
            given: dict[str, Json] = {"raw": _BROKEN} if args is None else {"args": args}
            yield {"call": {"name": call.get("name"), "id": call.get("model_id"), **given}}
    usage = zip(_COUNTS, as_list(reply.get("usage")), strict=False)
    yield {"usage": {name: count for name, count in usage if count}}
    failed = reply.get("failed")
    if isinstance(failed, Mapping):
        retryable = failed.get("retryable") is True
        yield {"error": {"message": str(failed.get("problem")), "retryable": retryable}}
    elif reply.get("finish"):
        yield {"finish": reply["finish"]}
