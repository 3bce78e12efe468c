"""What a model says is shown, kept and run without secrets, however it comes in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.approval.redaction import MARKER, Secrets
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Notice, Text, Thinking
from wcore.turn.reply import SecretsFilter
from wcore.vocabulary import ModelCall

KEY = "sk-live-0123456789"
SAID = st.tuples(st.sampled_from([Text, Thinking]), st.sampled_from([KEY, KEY[:9], KEY[9:], "sk"]))


@pytest.fixture
def secrets() -> Secrets:
    secrets = Secrets()
    secrets.add(KEY)
    return secrets


def filtered(secrets: Secrets, deltas: list[Delta]) -> list[Delta]:
    said = SecretsFilter(secrets)
    return [passed for delta in deltas for passed in said.feed(delta)] + said.finish()


def blocks(deltas: list[Delta]) -> list[tuple[type[Delta], str]]:
    """Return the texts that come one after the other, joined."""
    found: list[tuple[type[Delta], str]] = []
    for delta in deltas:
        assert isinstance(delta, Text | Thinking)
        if found and found[-1][0] is type(delta):
            found[-1] = (type(delta), found[-1][1] + delta.text)
        else:
            found.append((type(delta), delta.text))
    return found


@given(said=st.lists(SAID), cuts=st.lists(st.integers(1, 20), max_size=20))
def test_texts_come_through_in_order_without_secrets(
    said: list[tuple[type[Text] | type[Thinking], str]], cuts: list[int]
) -> None:
    secrets = Secrets()
    secrets.add(KEY)
    whole = blocks([kind(text) for kind, text in said])
    pieces: list[Delta] = []
    for kind, text in said:
        size = cuts.pop() if cuts else len(text)
        pieces += [kind(text[at : at + size]) for at in range(0, len(text), size)]
    passed = filtered(secrets, pieces)
    assert blocks(passed) == [(kind, text.replace(KEY, MARKER)) for kind, text in whole]


def test_a_call_has_no_secret_anywhere(secrets: Secrets) -> None:
    args = {"command": f"echo {KEY}", "edits": [{"new_string": KEY, KEY: 1}], "n": 2}
    call = CallReady(ModelCall(KEY, f"Bash{KEY}", args, f"not JSON: {KEY}"))
    clean = {"command": f"echo {MARKER}", "edits": [{"new_string": MARKER, MARKER: 1}], "n": 2}
    assert filtered(secrets, [call]) == [
        CallReady(ModelCall(MARKER, f"Bash{MARKER}", clean, f"not JSON: {MARKER}"))
    ]


def test_what_is_held_back_comes_before_what_follows(secrets: Secrets) -> None:
    ends: list[Delta] = [
        Notice("n"),
        Finished(FinishReason.STOP),
        CallReady(ModelCall("c", "LS", {})),
    ]
    for end in ends:
        assert filtered(secrets, [Text("so sk-l"), end]) == [Text("so "), Text("sk-l"), end]
