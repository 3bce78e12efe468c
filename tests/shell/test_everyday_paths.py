"""How many everyday texts ask because of a path where every command was granted."""

from pathlib import Path
from typing import Final

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import gather
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy_files.named_paths import finder
from wcore.vocabulary import Always, Category, Mode, Prepared, Row, Verdict

from .corpus import FOLDER, read_cases

ASKING_MAX: Final = 12  # they name a path outside, as `/tmp/x`, `~/src` and `../a`


def test_everyday_texts_ask_only_for_paths_outside(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    workspace = home / "code"
    workspace.mkdir()
    places = Places(str(workspace), str(home))
    find, environ = finder(places), {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    granted = GrantBook([Grant("g", "Bash", Always(), "", "")])
    context = DecisionContext(Mode.DEFAULT, granted, frozenset({"Bash"}))
    texts = {case.text for case in read_cases([FOLDER / "everyday.jsonl"])}
    asking: dict[str, Row] = {}
    for text in texts:
        named = find(text, environ)
        prepared = Prepared(
            "Bash", Category.EXEC, {}, "", "", (), text, named=named.paths, programs=named.programs
        )
        decision = decide(gather(prepared, shell.lex(text), places), context)
        if decision.verdict is not Verdict.ALLOW:
            asking[text] = decision.why.row
    assert len(texts) >= 400
    assert set(asking.values()) <= {Row.OUTSIDE}
    assert all(any(sign in text for sign in ("/tmp", "~", "..", "$HOME")) for text in asking)
    assert len(asking) <= ASKING_MAX, sorted(asking)
