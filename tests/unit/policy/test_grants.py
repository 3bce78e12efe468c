"""What may be granted, and what a grant covers: less is kept than is asked for, never more."""

import pytest
from msgspec.structs import replace
from tables import rows

from wcore.policy import shell
from wcore.policy.facts import Facts, PathFact, gather
from wcore.policy.grants import (
    GRANTS_MAX,
    PATH_GRANTS_MAX,
    Grant,
    GrantBook,
    ScopeRefused,
    validate_scope,
)
from wcore.policy.protected import Places
from wcore.vocabulary import (
    Access,
    Always,
    AlwaysPath,
    AlwaysPrefix,
    Category,
    Once,
    Persist,
    Prepared,
    Scope,
)

LATER = "2026-12-31T00:00:00.000000Z"
PLACES = Places(
    workspace="/home/ann/code",
    home="/home/ann",
    own=("/home/ann/.config/wcore", "/home/ann/.local/state/wcore", "/var/lib/engine/wcore"),
)


def reading(*paths: str, tool: str = "Read", category: Category = Category.INFO) -> Facts:
    found = tuple(PathFact(path, Access.READ, inside=False) for path in paths)
    return Facts(tool, category, found)


def running(text: str, tool: str = "Bash", category: Category = Category.EXEC) -> Facts:
    return Facts(tool, category, (), shell.analyse(text))


def refusal(scope: Scope, facts: Facts, book: GrantBook | None = None) -> str:
    """Return why `scope` is refused; it must be."""
    verdict = validate_scope(scope, facts, PLACES, book or GrantBook())
    assert isinstance(verdict, ScopeRefused), verdict
    assert verdict.reason
    return verdict.reason


def grant(number: int = 0, scope: Scope | None = None, tool: str = "Bash") -> Grant:
    scope = scope or Always()
    return Grant(f"g{number}", tool, scope, "2026-01-01T00:00:00Z", f"c{number}")


# --- folders --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("root", "paths"),
    [
        ("/data", ["/data/a"]),
        ("/data", ["/data"]),
        ("/data", ["/data/a", "/data/b/c"]),
        ("/data/a", ["/data/a"]),
        ("/home/ann/notes", ["/home/ann/notes/a"]),
        ("/home/ann/.cache/pip", ["/home/ann/.cache/pip/x"]),
        ("/home/bob", ["/home/bob/x"]),
        ("/etc", ["/etc/hosts"]),
    ],
)
def test_a_folder_that_holds_the_paths_of_the_call_can_be_granted(
    root: str, paths: list[str]
) -> None:
    assert validate_scope(AlwaysPath(root), reading(*paths), PLACES, GrantBook()) is None


@pytest.mark.parametrize("root", ["/", "//", "/home", "/home/ann"])
def test_the_root_home_and_what_contains_home_are_refused(root: str) -> None:
    assert "contains, the home folder" in refusal(AlwaysPath(root), reading("/home/ann/notes/a"))


@rows(
    "root",
    [
        "/home/ann/.ssh",
        "/home/ann/.ssh/keys",
        "/home/ann/.aws",
        "/home/ann/.gnupg/private-keys-v1.d",
        "/home/ann/.kube",
        "/home/ann/.docker",
        "/home/ann/.password-store",
        "/home/ann/.config/gcloud",
        "/home/ann/.config/gh",
        "/home/ann/.config",  # contains two of them
        "/home/bob/.ssh",
        "/mnt/backup/.SSH/old",
        "/srv/repo/.git/.ssh",
    ],
)
def test_a_folder_that_is_holds_or_lies_in_a_credential_folder_is_refused(root: str) -> None:
    assert "credentials" in refusal(AlwaysPath(root), reading(f"{root}/a"))


@pytest.mark.parametrize(
    "root",
    [
        "/home/ann/.local/state/wcore",
        "/home/ann/.local/state/wcore/sessions",
        "/home/ann/.local/state",
        "/var/lib/engine",
        "/var",
        "/home/ann/code/.wcore",
        "/elsewhere/.wcore/agents",
        "/elsewhere/.WCORE",
    ],
)
def test_a_folder_that_is_holds_or_lies_in_one_of_wcores_own_is_refused(root: str) -> None:
    assert "wcore's own" in refusal(AlwaysPath(root), reading(f"{root}/a"))


@pytest.mark.parametrize("root", ["/data/b", "/dat", "/data/a/b", "/other", "/data/a.txt/"])
def test_a_folder_that_does_not_hold_the_path_of_the_call_is_refused(root: str) -> None:
    assert "does not contain" in refusal(AlwaysPath(root), reading("/data/a"))


def test_a_folder_must_hold_every_path_of_the_call() -> None:
    assert "does not contain" in refusal(AlwaysPath("/data"), reading("/data/a", "/other/b"))


def test_a_folder_is_never_granted_for_writing() -> None:
    assert "reading only" in refusal(AlwaysPath("/data", write=True), reading("/data/a"))
    writes = Facts("Read", Category.INFO, (PathFact("/data/a", Access.WRITE, inside=False),))
    refusal(AlwaysPath("/data"), writes)


@pytest.mark.parametrize(
    ("tool", "category"),
    [("Edit", Category.EDIT), ("Bash", Category.EXEC), ("mcp__a__b", Category.MCP)],
)
def test_a_folder_means_nothing_for_tools_that_do_more_than_read(
    tool: str, category: Category
) -> None:
    assert tool in refusal(AlwaysPath("/data"), reading("/data/a", tool=tool, category=category))


def test_a_folder_means_nothing_for_a_call_without_paths() -> None:
    refusal(AlwaysPath("/data"), reading(tool="AskUserQuestion"))


def test_sixty_four_folders_can_be_granted_and_no_more() -> None:
    assert PATH_GRANTS_MAX == 64
    book = GrantBook()
    for number in range(64):
        assert validate_scope(AlwaysPath("/data"), reading("/data/a"), PLACES, book) is None
        book.add(grant(number, AlwaysPath(f"/data/{number}")))
    assert "64" in refusal(AlwaysPath("/data"), reading("/data/a"), book)
    assert validate_scope(Always(), reading("/data/a"), PLACES, book) is None, (
        "other grants still can"
    )
    book.revoke("g5")
    assert validate_scope(AlwaysPath("/data"), reading("/data/a"), PLACES, book) is None


# --- names and prefixes ---------------------------------------------------------------------------


@pytest.mark.parametrize("facts", [reading("/data/a"), running("ls"), Facts("x", Category.MCP)])
def test_once_and_the_name_of_a_tool_can_always_be_granted(facts: Facts) -> None:
    assert validate_scope(Once(), facts, PLACES, GrantBook()) is None
    assert validate_scope(Always(), facts, PLACES, GrantBook()) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("cargo ", "cargo build"),
        ("cargo", "cargo"),
        ("git log", "git log --oneline"),
        ("cargo", "cargo build && cargo test | cargo x; cargo y || cargo z\ncargo w"),
    ],
)
def test_a_prefix_that_covers_the_very_command_can_be_granted(text: str, command: str) -> None:
    verdict = validate_scope(AlwaysPrefix(text), running(command), PLACES, GrantBook())
    assert isinstance(verdict, shell.PrefixGrant)
    assert verdict.text == text.strip()


@pytest.mark.parametrize(
    "text", ["", " ", "\t", "/", "*", " / ", "**", "-", "cargo;", "$(x)", "a\nb"]
)
def test_a_prefix_without_a_whole_command_word_is_refused(text: str) -> None:
    refusal(AlwaysPrefix(text), running("cargo build"))


@rows(
    ("text", "command"),
    [
        ("rm ", "cargo test"),
        ("cargo", "cargofoo x"),
        ("cargo", "cargo-evil"),
        ("cargo", "CARGO build"),
        ("car", "cargo build"),
        ("cargo build", "cargo"),
        ("cargo", "cargo build; curl x | sh"),
        ("cargo", "cargo build\ncurl x"),
        ("cargo", "cargo build & rm x"),
        ("cargo", "cargo $(curl x)"),
        ("cargo", "cargo `curl x`"),
        ("cargo", "cargo build > f"),
        ("cargo", "X=1 cargo build"),
        ("cargo", ""),
        ("cargo", " ; "),
    ],
)
def test_a_prefix_that_does_not_cover_the_very_command_is_refused(text: str, command: str) -> None:
    refusal(AlwaysPrefix(text), running(command))


@pytest.mark.parametrize(
    ("tool", "category"),
    [("mcp__a__b", Category.MCP), ("Write", Category.EDIT), ("Read", Category.INFO)],
)
def test_a_prefix_means_nothing_for_other_than_exec_tools(tool: str, category: Category) -> None:
    assert tool in refusal(AlwaysPrefix("cargo"), running("cargo", tool, category))


def test_a_prefix_means_nothing_for_an_exec_tool_without_a_command() -> None:
    assert "Spawn" in refusal(AlwaysPrefix("cargo"), Facts("Spawn", Category.EXEC))


def test_an_argument_called_command_makes_no_shell_text_of_another_tool() -> None:
    prepared = Prepared("Spawn", Category.EXEC, {"command": "cargo build"}, "", "d")
    refusal(AlwaysPrefix("cargo"), gather(prepared, None, PLACES))


@pytest.mark.parametrize("scope", [Always(), AlwaysPrefix("ls"), AlwaysPath("/data")])
def test_a_thousand_and_twenty_four_grants_and_no_more(scope: Scope) -> None:
    assert GRANTS_MAX == 1024
    book = GrantBook()
    for number in range(1024):
        book.add(grant(number, tool=f"mcp__a__{number}"))
    assert "1024" in refusal(scope, running("ls"), book)
    assert validate_scope(Once(), running("ls"), PLACES, book) is None


# --- the book -------------------------------------------------------------------------------------


def test_a_name_covers_that_tool_and_no_other() -> None:
    book = GrantBook()
    kept = book.add(grant())
    assert book.by_name("Bash") is kept
    for other in ("bash", "Bas", "Bash2", "", "Spawn", "mcp__x__Bash"):
        assert book.by_name(other) is None


def test_a_prefix_belongs_to_its_tool_and_is_no_grant_of_the_name() -> None:
    parsed = shell.parse_grant("ls")
    assert isinstance(parsed, shell.PrefixGrant)
    book = GrantBook()
    kept = Grant("g1", "Bash", AlwaysPrefix("ls"), "2026-01-01T00:00:00Z", "c1", prefix=parsed)
    book.add(kept)
    assert book.prefixes("Bash") == [kept]
    assert book.prefixes("Spawn") == []
    assert book.by_name("Bash") is None
    assert book.of_path("/data/a") is None


@pytest.mark.parametrize(
    ("path", "covered"),
    [("/data", True), ("/data/a/b", True), ("/data2", False), ("/", False), ("/dat", False)],
)
def test_a_folder_covers_itself_and_what_lies_below(path: str, covered: bool) -> None:
    book = GrantBook()
    book.add(grant(scope=AlwaysPath("/data"), tool="Read"))
    assert (book.of_path(path) is not None) is covered
    assert book.by_name("Read") is None


def test_a_grant_given_twice_is_one_grant_with_its_first_id() -> None:
    book = GrantBook()
    first = book.add(grant(1))
    again = book.add(replace(grant(2), created_at=LATER))
    assert again == replace(first, created_at=LATER), "it is given anew"
    assert len(book) == 1
    book.add(grant(3, AlwaysPath("/data")))
    book.add(grant(4, AlwaysPath("/data")))
    book.add(grant(5, tool="Read"))
    assert [each.grant_id for each in book] == ["g1", "g3", "g5"]


def test_a_revoked_grant_covers_nothing_from_that_moment() -> None:
    book = GrantBook()
    book.add(grant(1))
    assert book.revoke("g1") is True
    assert book.by_name("Bash") is None
    assert len(book) == 0
    assert book.revoke("g1") is False
    assert book.revoke("never") is False


def test_uses_are_counted_for_each_grant_by_itself() -> None:
    book = GrantBook()
    book.add(grant(1))
    book.add(grant(2, tool="Read"))
    for _ in range(3):
        book.count_use("g1")
    book.count_use("never")
    assert {each.grant_id: each.uses for each in book} == {"g1": 3, "g2": 0}


def test_only_folders_count_as_folders() -> None:
    book = GrantBook()
    book.add(grant(1))
    book.add(grant(2, AlwaysPath("/data")))
    book.add(grant(3, AlwaysPath("/other")))
    assert book.path_count == 2


def test_going_through_the_book_survives_a_change_of_it() -> None:
    book = GrantBook()
    for number in range(3):
        book.add(grant(number, tool=f"t{number}"))
    for each in book:
        book.revoke(each.grant_id)
    assert len(book) == 0


def test_a_grant_lasts_for_the_session_unless_it_says_otherwise() -> None:
    assert grant().persist is Persist.SESSION
    assert grant().agent == "main"
    assert grant().uses == 0
