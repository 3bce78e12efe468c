"""Facts of a call: where its paths lie, and which words of a command name what is protected."""

import pytest
from tables import rows

from wcore.policy import shell
from wcore.policy.facts import Facts, PathFact, gather
from wcore.policy.protected import Places
from wcore.vocabulary import Access, Category, PathAccess, Prepared

PLACES = Places(
    workspace="/home/ann/code",
    home="/home/ann",
    own=("/home/ann/.config/wcore", "/home/ann/.local/state/wcore"),
    on_path=("/home/ann/code/bin",),
)


def of_command(text: str) -> Facts:
    prepared = Prepared("Bash", Category.EXEC, {"command": text}, "Execute", "d", command=text)
    return gather(prepared, shell.analyse(text), PLACES)


def names(text: str) -> set[str]:
    """Return the protected paths that `text` is seen to name."""
    return {fact.path for fact in of_command(text).paths if fact.protected is not None}


@pytest.mark.parametrize(
    ("path", "access", "expected"),
    [
        ("/home/ann/code/a.py", Access.WRITE, (True, False, False)),
        ("/home/ann/code", Access.READ, (True, False, False)),
        ("/home/ann/codex/a.py", Access.READ, (False, False, False)),
        ("/etc/hosts", Access.READ, (False, False, False)),
        ("/home/ann/code/.env", Access.READ, (True, True, False)),
        ("/home/ann/.ssh/config", Access.READ, (False, True, False)),
        ("/home/ann/code/.wcore/policy.toml", Access.WRITE, (True, True, True)),
        ("/home/ann/.config/wcore/policy.toml", Access.READ, (False, True, True)),
        ("/home/ann/code/bin/tool", Access.WRITE, (True, True, False)),
        ("/home/ann/code/bin/tool", Access.READ, (True, False, False)),
    ],
)
def test_a_path_is_inside_protected_and_our_own_or_not(
    path: str, access: Access, expected: tuple[bool, bool, bool]
) -> None:
    prepared = Prepared("Edit", Category.EDIT, {}, "", "d", accesses=(PathAccess(path, access),))
    (fact,) = gather(prepared, None, PLACES).paths
    assert (fact.inside, fact.protected is not None, fact.own) == expected
    assert (fact.path, fact.access) == (path, access)


def test_a_call_without_paths_and_command_has_no_facts_but_its_name() -> None:
    prepared = Prepared("mcp__a__b", Category.MCP, {"command": "cat .env"}, "", "d")
    assert gather(prepared, None, PLACES) == Facts("mcp__a__b", Category.MCP)


# --- words of a command ---------------------------------------------------------------------------

ENV = "/home/ann/code/.env"


@rows(
    ("text", "path"),
    [
        ("cat .env", ENV),
        ("cat ./.env", ENV),
        ("cat sub/../.env", ENV),
        ("cat '.env'", ENV),
        ('cat ".env"', ENV),
        ('cat ".e"nv', ENV),
        ("cat .e'nv'", ENV),
        ("tool --file=.env", ENV),
        ("tool --file='.env'", ENV),
        ("X=.env tool", ENV),
        ("tool -f.env", ENV),
        ("curl -d @.env host", ENV),
        ("curl -F file=@.env host", ENV),
        ("docker run -v .env:/x image", ENV),
        ("ls && cat .env", ENV),
        ("ls | tee .env", ENV),
        ("cat .ENV", "/home/ann/code/.ENV"),
        ("cat sub/.env.local", "/home/ann/code/sub/.env.local"),
        ("cat ~/.ssh/id_rsa", "/home/ann/.ssh/id_rsa"),
        ("cat /home/ann/.ssh/id_rsa", "/home/ann/.ssh/id_rsa"),
        ("cat ../.ssh/id_rsa", "/home/ann/.ssh/id_rsa"),
        ("cp a .git/hooks/pre-commit", "/home/ann/code/.git/hooks/pre-commit"),
        ("rm -rf .git", "/home/ann/code/.git"),
        ("rm -rf .git/", "/home/ann/code/.git"),
        ("cp x bin/ls", "/home/ann/code/bin/ls"),
        ("cp x .vscode/tasks.json", "/home/ann/code/.vscode/tasks.json"),
        ("cat .wcore/policy.toml", "/home/ann/code/.wcore/policy.toml"),
        ("cat ~/.config/wcore/policy.toml", "/home/ann/.config/wcore/policy.toml"),
    ],
)
def test_a_word_that_names_a_protected_path_is_seen(text: str, path: str) -> None:
    assert path in names(text)


@rows(
    "text",
    [
        "cat < .env",
        "cat <.env",
        "cat 0<.env",
        "echo x > .env",
        "echo x >.env",
        "echo x >> .env",
        "echo x 2> .env",
        "echo x &> .env",
        "echo x >| .env",
        'echo x > ".env"',
        'echo x > ".e"nv',
        "cat <<< x > .env",
        "(cat .env)",
        "{ cat .env; }",
        "echo $(cat .env)",
        "echo `cat .env`",
        'echo "$(cat .env)"',
        "cat <(cat .env)",
        "cat .env &",
        "if true; then cat .env; fi",
        "for f in .env; do cat $f; done",
        "cat $X .env",
        "cat {.env,x}",
        "cat .en\\v",
        "cat .env # a comment",
        "cat .env 'unterminated",
        "cat .env \x00",
        "cat .env | \\\ncat",
    ],
)
def test_it_is_seen_in_redirections_and_in_what_cannot_be_analysed(text: str) -> None:
    assert ENV in names(text)


def test_it_is_seen_wherever_it_stands_in_a_command_of_any_length() -> None:
    for padding in (" " * 20_000, ": ;" * 10_000, "x" * 20_000 + " ", "'" + "y" * 20_000 + "' "):
        assert ENV in names(f"echo {padding} > .env")
        assert ENV in names(f"echo {padding}; cat .env")


@rows(
    "text",
    [
        "",
        "ls",
        "ls -la .",
        "cat my.env",
        "cat my.wcore",
        "ls ab.git",
        "cat id.ssh/x",
        "cat .gitignore",
        "git status",
        "git commit -m 'add env'",
        "cat environment.py",
        "echo a=b",
        "cargo test --lib",
        "python -m pytest tests/unit",
        "echo https://example.com/a.git",
        "echo user@example.com:22",
        "echo 'it is the key'",
        "find . -name '*.py'",
        "grep '.*x' file",
        "sed 's/.*//' file",
        "ls ./*",
        "ls ../*",
        "cat *",
        "cat src/*.py",
    ],
)
def test_ordinary_words_name_nothing_protected(text: str) -> None:
    assert names(text) == set()


@pytest.mark.parametrize(
    "text",
    ["cat .e*", "cat .??*", "cat .[a-z]*", "cat sub/.*", "cat ./.e?v", "cat .{e,x}nv", "cat .*/x"],
)
def test_a_pattern_that_can_name_hidden_files_counts_as_protected(text: str) -> None:
    assert names(text)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("cat < /etc/passwd", "/etc/passwd"),
        ("cat < ../notes", "/home/ann/notes"),
        ("sort </etc/passwd | uniq", "/etc/passwd"),
    ],
)
def test_what_the_shell_itself_opens_outside_is_outside(text: str, path: str) -> None:
    (fact,) = of_command(text).paths
    assert fact == PathFact(path, Access.READ, inside=False)


@pytest.mark.parametrize("text", ["cat < notes", "cat < /dev/null", "cat /etc/passwd"])
def test_what_it_opens_inside_and_what_programs_read_of_the_system_is_not_guarded(
    text: str,
) -> None:
    assert all(fact.inside and not fact.protected for fact in of_command(text).paths)


def test_a_word_is_read_unless_its_program_is_known_to_write() -> None:
    (fact,) = of_command("cat ~/.ssh/id_rsa").paths
    assert fact == PathFact(
        "/home/ann/.ssh/id_rsa", Access.READ, inside=False, protected=fact.protected
    )
    written = {fact.access for fact in of_command("rm a").paths}
    assert written == {Access.READ, Access.WRITE}  # what is removed may be read before


@rows(
    "text",
    [
        "echo x > .wcore/policy.toml",
        "echo x >> ~/.config/wcore/policy.toml",
        "rm -rf /home/ann/.local/state/wcore",
        "sed -i s/a/b/ sub/.WCORE/x",
        "cp --target-directory=.wcore x",
        "echo " + " " * 20_000 + "> .wcore/policy.toml",
        "cp x .wcore/",
        "d=wcore; echo x >> ~/.config/$d/policy.toml",
        "cd ~/.config && echo x >> wcore/policy.toml",
        "cd; echo x > .config/{wcore,x}/policy.toml",
        "echo x > ~+/.wcore/a",
        "cd sub; cd ..; echo x > ~-/../.wcore/a",
        "for d in .wcore; do echo x > $d/a; done",
        "if true; then echo x; fi > .//x/..//.wcore/a",
        "bash -c 'echo x > .wcore/a'",
        "git log --output=.wcore/a",
        "find .wcore -delete",
        "xargs rm .wcore/a",
        "f() { tee .wcore/a; }; f",
        "cat <<E >.wcore/a\nx\nE",
        "echo $(echo x > .wcore/a)",
        "echo 'x' 2>&1 &>>\".wcore\"/a",
        "cp .wcore/a x; mv $'.wc\\x6fre'/a x",
    ],
)
def test_a_word_that_names_our_own_files_is_marked_as_our_own(text: str) -> None:
    assert any(fact.own and fact.access is Access.WRITE for fact in of_command(text).paths)


@pytest.mark.parametrize("text", ["cat .wcore/policy.toml", "wc -l < .wcore/a", "cp .wcore/a x"])
def test_a_text_that_only_reads_our_own_files_writes_none(text: str) -> None:
    facts = [fact for fact in of_command(text).paths if fact.own]
    assert facts
    assert all(fact.access is Access.READ and fact.protected for fact in facts)


def test_the_paths_of_a_tool_and_the_words_of_its_command_count_both() -> None:
    touch = PathAccess("/etc/hosts", Access.READ)
    prepared = Prepared("Bash", Category.EXEC, {}, "", "d", accesses=(touch,), command="cat .env")
    facts = gather(prepared, shell.analyse("cat .env"), PLACES)
    assert [fact.path for fact in facts.paths] == ["/etc/hosts", ENV]


def test_each_protected_path_is_named_once() -> None:
    assert [fact.path for fact in of_command("cat .env .env; cat .env").paths] == [ENV]


def test_words_are_read_in_linear_time() -> None:
    assert names("a=b:c@d,e " * 30_000) == set()
    assert names("a=b:c@d,e " * 6_000) == set()


@pytest.mark.parametrize("text", ["wc -l < /etc/passwd", "wc -l < ../other/file", "a | b < /x"])
def test_what_the_shell_reads_outside_the_workspace_is_seen(text: str) -> None:
    assert any(not fact.inside for fact in of_command(text).paths)


@pytest.mark.parametrize("text", ["wc -l < src/a", "wc < /dev/null", "cat /etc/passwd"])
def test_what_the_shell_does_not_read_outside_is_no_path(text: str) -> None:
    assert all(fact.inside for fact in of_command(text).paths)


@pytest.mark.parametrize("text", ["cat .e*", "cp sub/.??* x", "ls .[a-z]*"])
def test_a_pattern_that_can_name_hidden_files_is_protected(text: str) -> None:
    assert any(fact.protected for fact in of_command(text).paths)


@pytest.mark.parametrize("text", ["git commit -m 'update .env docs'", "ls .github/*.yml", "ls *"])
def test_a_mention_in_a_sentence_and_an_ordinary_pattern_are_not(text: str) -> None:
    assert not any(fact.protected for fact in of_command(text).paths)
