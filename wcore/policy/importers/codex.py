"""Codex: `prefix_rule(…)` in files of rules. The strictest rule that fits wins there.

The files are Starlark. They are parsed and never run: every statement must be a call with literal
arguments, anything else (a loop, a variable) might make rules that we would not see.
"""

import ast
import warnings
from itertools import islice, product
from typing import Any, Final

from wcore.policy.importers.commands import grant_text, stop_text
from wcore.policy.importers.draft import Difference, Draft, ForeignError
from wcore.policy.rules.rule import SHELL_TOOL, ParseContext
from wcore.vocabulary import Verdict

SPELLINGS_MAX: Final = 256  # of one pattern with alternatives; past that it is cut short

_DECISIONS: Final = {
    "allow": Verdict.ALLOW,
    "prompt": Verdict.ASK,
    "forbidden": Verdict.DENY,
}
_WORDS_MAY_BE_COMPUTED: Final = (
    "arguments may hold variables and wildcards here; there such a text is judged as a whole"
)
_KNOWN: Final = ("pattern", "decision", "justification", "match", "not_match")


def from_codex(text: str, context: ParseContext) -> Draft:
    """Return the policy that the rules amount to.

    Raises:
        ForeignError: the text is not made of calls with literal arguments.
    """
    draft = Draft(context)
    for statement in _statements(text):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Constant) and isinstance(call.value, str):
            continue  # a text that stands alone is a comment
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise _wrong(statement, "only calls such as prefix_rule(…) are understood")
        given = _arguments(call)
        said = f"line {call.lineno}: {call.func.id}"
        match call.func.id:
            case "prefix_rule":
                _add(draft, call, given)
            case "network_rule":
                if given.get("decision") == "allow":
                    draft.left_out(said, "what a command reaches is not looked at here")
                else:
                    draft.looser(said, "what a command reaches is not looked at here")
            case "host_executable":
                text = "a program named with its folder is never allowed by its name here"
                draft.note(Difference.STRICTER, said, text)
            case name:
                raise _wrong(call, f"{name} is not known")
    draft.finish()
    return draft


def _statements(text: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes that Python would rather not see
            return ast.parse(text).body
    except SyntaxError as error:
        raise ForeignError(f"line {error.lineno or 1}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ForeignError(f"it cannot be parsed: {error}") from error


def _arguments(call: ast.Call) -> dict[str, Any]:
    if call.args:
        raise _wrong(call, "arguments must be named")
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise _wrong(call, "arguments must be named")
        try:
            found[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            raise _wrong(call, f"`{keyword.arg}` is no literal") from error
    return found


def _add(draft: Draft, call: ast.Call, given: dict[str, Any]) -> None:
    unknown = [name for name in given if name not in _KNOWN]
    do = _DECISIONS.get(str(given.get("decision", "allow")))
    if unknown or do is None:
        raise _wrong(call, f"{unknown[0]} is not known" if unknown else "unknown decision")
    pattern = _pattern(call, given.get("pattern"))
    for words in _spelled(pattern):
        said = f"line {call.lineno}: {' '.join(words)}"
        text = grant_text(words) if do is Verdict.ALLOW else stop_text(words, open_end=False)
        is_cut = len(words) < len(pattern)
        if do is not Verdict.ALLOW:
            why = "every command: its beginning cannot be said here" if text is None else ""
            draft.stop(do, SHELL_TOOL, text, said, why=why or ("it is cut short" if is_cut else ""))
        elif text is None or is_cut:
            draft.left_out(said, "such words cannot be allowed here; it asks")
        else:
            draft.allow(f"{SHELL_TOOL}({text})", said)
            draft.looser("decision = allow", _WORDS_MAY_BE_COMPUTED)


def _pattern(call: ast.Call, value: object) -> list[list[str]]:
    """Return the choices for each word."""
    if not isinstance(value, list | tuple) or not value:
        raise _wrong(call, "`pattern` must be a list of words")
    found = [[each] if isinstance(each, str) else each for each in value]  # pyright: ignore
    for choices in found:  # pyright: ignore
        if not isinstance(choices, list | tuple) or not choices:
            raise _wrong(call, "`pattern` must be a list of words")
        if not all(isinstance(word, str) for word in choices):  # pyright: ignore
            raise _wrong(call, "`pattern` must be a list of words")
    return found  # pyright: ignore


def _spelled(pattern: list[list[str]]) -> list[tuple[str, ...]]:
    """Return every spelling; of a pattern with too many, their beginnings."""
    while len(found := list(islice(product(*pattern), SPELLINGS_MAX + 1))) > SPELLINGS_MAX:
        pattern = pattern[:-1]
    return found


def _wrong(node: ast.AST, text: str) -> ForeignError:
    return ForeignError(f"line {getattr(node, 'lineno', 1)}: {text}")
