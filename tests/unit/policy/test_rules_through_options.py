"""Rules that ask or deny reach a subcommand through the options in front of it."""

import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from wcore.policy.shell.coverage import COMMANDS, GROUPS
from wcore.policy.shell.option_specs import OptionArgument, option_spec
from wcore.policy.shell.paths.named_paths import paths_named

from .test_rules import PLACES, bash, outcome, policies, rules

MODULES: Final = frozenset(key for key in (*COMMANDS, *GROUPS) if key in ("json.tool", "unittest"))
ALLOW: Final = ("Bash", "allow")


def verdict(text: str, rule: str, do: str = "deny") -> str:
    return outcome(bash(text), policies(rules((rule, do), ALLOW))).verdict.value


def option_forms(key: str) -> list[str]:
    """Every way to write an option that may stand between a program and its subcommand."""
    spec = option_spec(GROUPS[key])
    found = ["--unheard-of", "--unheard-of=v", "--unheard-of v", "--", "'--unheard-of'", "+v"]
    for name, takes in {**spec.known, **spec.asks}.items():
        option = name[1:] if spec.single_dash else name
        if takes is OptionArgument.VALUE:
            found += [f"{option} v", f"{option} 'v w'"]
            found.append(f"{option}=v" if name.startswith("--") else f"{option}v")
        else:
            found += [option, f"{option} true"] if name.startswith("--") else [option]
        if takes is OptionArgument.ATTACHED:
            found.append(f"{option}=v")
    return found


@rows("key", sorted(set(GROUPS) - MODULES))
def test_a_rule_about_a_subcommand_fires_behind_every_option(key: str) -> None:
    wanted = [
        (do, policies(rules((f"Bash({key} {rule})", do), ALLOW)))
        for do in ("deny", "ask")
        for rule in ("zap", "zap *", "z*", "zap away")
    ]
    for form in option_forms(key):
        for text in (f"{key} {form} zap away", f"{key} {form} {form} zap away now"):
            call = bash(text)
            for do, found in wanted:
                assert outcome(call, found).verdict.value == do, text


@rows(
    ("text", "rule"),
    [
        ("git -C . push", "git push"),
        ("git --no-pager push origin", "git push *"),
        ("git -c a=b -C x push", "git push:*"),
        ("git -p --git-dir=x --work-tree y push", "git push"),
        ("/usr/bin/git -C . push", "git push"),
        ("command git -C . push", "git push"),
        ("env X=1 git --no-pager push", "git push"),
        ("timeout 5 git -C . push", "git push"),
        ("X=1 git -C . push", "git push"),
        ("git push -v --force origin", "git push --force"),
        ("bash -c 'git -C . push'", "git push"),
        ("git-push origin", "git push"),
        ("/usr/lib/git-core/git-push origin", "git push"),
        ("docker-compose -f x down", "docker compose down"),
        ("env -S 'git -C . push'", "git push"),
        ("env -iS'git push'", "git push"),
        ("env --split-string='git push'", "git push"),
        ("tmux new -d 'git push'", "git push"),
        ("docker --context x compose down", "docker compose down"),
        ("docker compose -f x.yml down -v", "docker compose down"),
        ("docker -c x compose --project-name y down", "docker compose down"),
        ("npm --prefix x publish", "npm publish"),
        ("npm --silent true publish", "npm publish"),
        ("kubectl -n x delete pod y", "kubectl delete"),
        ("kubectl -nx delete pod y", "kubectl delete"),
        ("cargo +nightly publish", "cargo publish"),
        ("terraform -chdir=x destroy", "terraform destroy"),
        ("unknown --flag sub", "unknown sub"),
        ("unknown --flag value sub", "unknown sub"),
        ("unknown -v -C value --x=y sub", "unknown sub"),
        (f"git {'-c a=b ' * 12}push", "git push"),
        (f"env {'a=b ' * 90}git push", "git push"),
        (f"bash {'-x ' * 90}-c 'git push'", "git push"),
    ],
)
def test_a_rule_reaches_a_command_through_options(text: str, rule: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) == do


@rows(
    ("text", "rule"),
    [
        ("git -C $DIR log", "git push"),
        ("git log $X", "git push"),
        ("git -C $HOME/x status", "git push"),
        ("rm *.o", "rm -rf"),
        ("find . | xargs git log", "git push"),
        ("find . | xargs grep -n push", "git push"),
        ("env X=1 grep -S push", "git push"),
        ("git config user.name x", "git push"),
        ("echo alias.x", "git push"),
        (f"touch {'a ' * 90}", "touch b"),
    ],
)
def test_a_rule_leaves_other_commands_alone(text: str, rule: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) == "allow"


@rows(
    ("text", "rule"),
    [
        ("git log --grep push", "git push"),
        ("git -C push log", "git push"),
        ("git -c push=x status", "git push"),
        ("git stash push", "git push"),
        ("docker run push", "docker push"),
        ("docker --context down ps", "docker down"),
        ("kubectl -n delete get pods", "kubectl delete"),
        ("npm run publish", "npm publish"),
        ("unknown other sub", "unknown sub"),
        ("unknown other --flag sub", "unknown sub"),
        ("git -c alias.p=push p", "git push"),
        ("git -c 'alias.p=!git -C . push' p", "git push"),
        ("git -c alias.p=push -C . p", "git push"),
        ("git rebase -x 'git push' HEAD~1", "git push"),
        ("git rebase --exec='make; git push' HEAD~1", "git push"),
        ("git config alias.x push; git x", "git push"),
        ("echo rm -print", "rm"),
        ("x 'rm -r' -f", "rm -rf"),
    ],
)
def test_a_text_with_all_words_of_a_rule_elsewhere_asks(text: str, rule: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) == "ask"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("git $X", "git push"),
        ("git $X push", "git push"),
        ('git "$X" origin', "git push"),
        ("git pu{sh,ll}", "git push"),
        ("git -C . ${SUB}", "git push --force"),
        ("git push $FLAGS", "git push --force"),
        ("echo push | xargs git", "git push"),
        ("echo push | parallel git {}", "git push"),
        ("parallel git ::: push", "git push"),
        ("echo push | xargs -I% git %", "git push"),
        ("echo push | xargs -IX git -C . X now", "git push"),
        ("echo push | xargs -n1 -I {} git {}", "git push"),
        ("GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push GIT_CONFIG_COUNT=1 git x", "git push"),
        ("git config alias.x push; git x", "git push"),
        (f"git {'-c a=b ' * 40}push", "git push"),
        (f"env {'a= ' * 4500}git push", "git push"),
    ],
)
def test_a_word_that_the_shell_computes_asks_where_it_may_be_what_is_denied(
    text: str, rule: str
) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) in ("ask", do)
        assert verdict(text, f"Bash({rule})", do) != "allow"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("rm -fr x", "rm -rf"),
        ("rm -r -f x", "rm -rf"),
        ("rm -f x -r", "rm -rf"),
        ("rm x -vfr", "rm -rf"),
        ("sudo rm -f -v -r x", "rm -rf"),
        ("rm --force x --recursive", "rm --recursive --force"),
        ("rm --rec --for x", "rm --recursive --force"),
        ("git push origin main --force", "git push --force"),
        ("git push origin +main -f", "git push -f"),
        ("git -C . push origin --force=x", "git push --force"),
        ("npm publish --tag next --access public", "npm publish --access"),
        ("find . -name x -delete", "find -delete"),
    ],
)
def test_a_rule_that_names_an_option_holds_in_every_order_and_bundling(
    text: str, rule: str
) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) == do


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("rm -r x", "rm -rf"),
        ("rm --recursive --force x", "rm -rf"),  # as `policy lint` says
        ("git push origin main", "git push --force"),
        ("git push --follow-tags", "git push --force"),
        ("find . -depth -type l -name d", "find -delete"),
        ("rm x && ls -rf", "rm -v"),
    ],
)
def test_a_rule_that_names_an_option_leaves_other_options_alone(text: str, rule: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) == "allow"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("rm $X", "rm -rf"),
        ("rm -$X y", "rm -rf"),
        ("rm -r x; y -f", "rm -rf"),
        ('rm -r -- "$X"', "rm -rf"),
        ("git push origin $REF", "git push --force"),
        ("git push origin --$X", "git push --force"),
        ("ls | xargs rm", "rm -rf"),
    ],
)
def test_a_computed_word_may_be_an_option(text: str, rule: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) == "ask"


def patterns_of(word: str) -> st.SearchStrategy[str]:
    """Draw patterns of file names that the shell may replace by `word`."""
    pieces = [
        st.sampled_from(
            [
                *(c, "?", "*", f"{c}*", f"*{c}", f"[{c}]", "[!^]", f"[^^{c.swapcase()}]"),
                *("[[:graph:]]", f"[]{c}]", f"[[:digit:]{c}]", f"?({c})"),
            ]
        )
        for c in word
    ]
    return st.tuples(*pieces).map("".join).filter(lambda text: re.search(r"[*?[]", text))


@given(st.data())
def test_a_pattern_asks_where_it_may_become_what_is_denied(data: st.DataObject) -> None:
    rule = data.draw(st.sampled_from(["git push", "git push origin", "rm -rf", "npm pub*"]))
    words = rule.replace("pub*", "publish").split()
    at = data.draw(st.integers(1, len(words) - 1))
    words[at] = data.draw(patterns_of(words[at]))
    do = data.draw(st.sampled_from(["deny", "ask"]))
    runner = data.draw(st.sampled_from(["", "env ", "timeout 5 ", "find . -exec "]))
    text = runner + " ".join(words) + (" {} ';'" if "find" in runner else "")
    assert verdict(text, f"Bash({rule})", do) in ("ask", do), text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("git [-]-no-pager push", "git push"),
        ("git ?P push", "git push"),
        ("find . -exec /bin/r[m] {} ';'", "rm"),
        ("find . -exec r? -rf {} +", "rm -rf"),
        ("ls | xargs /bin/r*", "rm"),
        ("/usr/bin/g[i]t push", "git push"),
        ("shopt -s nocaseglob; git P*", "git push"),
        ("rm *", "rm important.txt"),
    ],
)
def test_a_pattern_may_become_a_program_or_an_option(text: str, rule: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) in ("ask", do)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("rm *.o", "rm -rf"),
        ("rm [a-z]*.pyc build/*", "rm -rf"),
        ("git add *.py", "git add ."),
        ("git log *.md", "git push"),
        ("ls *.txt", "rm"),
        ("find . -name '*.o'", "find . -delete"),
        ("grep -n 'a*b' *.py", "grep -r"),
        ("git checkout 'release-*'", "git checkout main"),
    ],
)
def test_a_pattern_that_cannot_become_what_is_denied_is_left_alone(text: str, rule: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, f"Bash({rule})", do) == "allow"


def test_options_do_not_widen_what_is_allowed() -> None:
    for text in ("git -C . log", "git --no-pager log", "git -c a=b log", "npm --prefix x test"):
        found = policies(rules(("Bash(git log *)", "allow"), ("Bash(npm test)", "allow")))
        assert outcome(bash(text), found).verdict.value == "ask"


@rows(
    "text",
    [
        *("xargs " * 2700, "env " + "a= " * 5400, "git " + "-x " * 5000, "bash -c " * 2000),
        *("command " * 2000 + "bash", "env -x " * 2000, "env -S" * 2000, "eval " * 3000),
        *("xargs -I% git % " * 1000, "echo x | bash\n" * 1100, "git -c alias.x=" * 1000),
        *("find -exec " * 1400, "timeout 5 " * 1600 + "sh", "parallel " * 1700, "a-" * 8000),
    ],
)
def test_a_text_of_many_words_has_an_answer(text: str) -> None:
    found = policies(rules(("Bash(git push)", "deny"), ("Bash(xargs *)", "ask"), ALLOW))
    assert outcome(bash(text), found).verdict.value in ("allow", "ask", "deny")
    assert paths_named(text, PLACES, {}) is not None
