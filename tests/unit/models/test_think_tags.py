"""Thinking that stands in the text, however the text is cut."""

import random
from itertools import pairwise

from wcore.models.http.think_tags import ThinkTags
from wcore.models.model import Text, Thinking

REPLIES = {  # what a model sends: its thinking, its text
    "<think>a</think>b": ("a", "b"),
    "\n<think>\na<b\n</think>\n\nb": ("\na<b\n", "b"),
    "<think></think>b": ("", "b"),
    "<think>never ends </thin": ("never ends </thin", ""),
    "<think>a</think>": ("a", ""),
    "<think>a</think>b<think>c</think>": ("a", "b<think>c</think>"),
    "a <think>b</think>": ("", "a <think>b</think>"),
    "<thinking>b": ("", "<thinking>b"),
    "<thin": ("", "<thin"),
    "  plain": ("", "  plain"),
    "": ("", ""),
    "  ": ("", "  "),
}


def test_only_what_begins_the_reply_is_thinking_wherever_it_is_cut() -> None:
    rng = random.Random(3)
    for reply, (thinking, text) in REPLIES.items():
        for _ in range(40):
            cuts = sorted(rng.choices(range(len(reply) + 1), k=rng.randint(0, 6)))
            tags = ThinkTags()
            found = [
                delta
                for start, end in pairwise([0, *cuts, len(reply)])
                for delta in tags.feed(reply[start:end])
            ]
            found += tags.finish()
            said = "".join(delta.text for delta in found if isinstance(delta, Text))
            thought = "".join(delta.text for delta in found if isinstance(delta, Thinking))
            assert (thought, said) == (thinking, text), (reply, cuts)
            assert all(delta.text for delta in found if isinstance(delta, Text | Thinking))
