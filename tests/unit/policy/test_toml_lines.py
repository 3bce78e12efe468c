"""Lines of a TOML text: every odd spelling, and any accepted text at all."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from wcore.policy.rules.toml_lines import locate

TEXT = """\
# a comment with [[rule]] in it
default = "ask"
deny = [ # the list
  "Bash(rm *)", "x]",
  '[[rule]]',
  \"\"\"
several
lines\"\"\",
  "last",
]

[ groups ]
"my group" = ["a",
  "b"]
[[rule]]
match = "a"  # [[rule]]
do = 'deny'
[["rule"]]
do = "ask"
match = '''
b'''
[limits]
ttl = 3.5
test = [{ call = "x", expect = "ask" },
        { expect = "deny",   call = "y" }]
"""


def test_tables_keys_and_items_are_found() -> None:
    tomllib.loads(TEXT)
    lines = locate(TEXT)
    assert lines.of("default") == 2
    assert [lines.of("deny", n) for n in range(5)] == [4, 4, 5, 6, 9]
    assert lines.of("groups", "my group", 1) == 14
    assert lines.of("rule", 0) == 15
    assert lines.of("rule", 0, "do") == 17
    assert lines.of("rule", 1) == 18
    assert lines.of("rule", 1, "match") == 20
    assert lines.of("limits", "ttl") == 23
    assert lines.of("limits", "test", 1, "call") == 25


def test_rules_may_be_written_as_inline_tables() -> None:
    lines = locate('rule = [\n  {match = "a", do = "ask"},\n  {match = "b", do = "ask"}\n]\n')
    assert [lines.of("rule", n, "do") for n in (0, 1)] == [2, 3]


def test_what_is_missing_is_said_to_be_where_it_would_belong() -> None:
    lines = locate("\n\n[[rule]]\nmatch = 'a'\n")
    assert lines.of("rule", 0, "do") == 3
    assert lines.of("nothing") == 1


def test_subtables_belong_to_the_latest_item() -> None:
    lines = locate("[[mcp]]\nname='a'\n[mcp.env]\nX='1'\n[[mcp]]\n[mcp.env]\nX='1'\n")
    assert lines.of("mcp", 0, "env") == 3
    assert lines.of("mcp", 1, "env", "X") == 7


def test_depth_costs_nothing() -> None:
    depth = 5000
    assert locate("a = " + "[" * depth + "]" * depth).of("a") == 1


@given(st.text())
def test_it_reads_any_text_to_the_end(text: str) -> None:
    locate(text)


@given(st.text(alphabet="[]{}=,.\"'#\n ab\\"))
def test_it_reads_any_odd_text_to_the_end(text: str) -> None:
    locate(text)
