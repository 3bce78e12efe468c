import pytest

from wcore.policy.shell import (
    SUGGESTIONS_MAX,
    Grant,
    analyse,
    covers,
    matches,
    parse_grant,
    suggest,
)


@pytest.mark.parametrize(
    ("text", "grants"),
    [
        ("cargo test", ["cargo test", "cargo"]),
        ("cargo test --lib foo", ["cargo test", "cargo"]),
        ("cargo", ["cargo"]),
        ("cargo --version", ["cargo"]),
        ("cargo build && cargo build --release", ["cargo build", "cargo"]),
        ("cargo build && cargo test", ["cargo"]),
        ("git log --oneline", ["git log"]),
        ("git status && git status -s", ["git status"]),
        ("npm run lint:fix -- x", ["npm run lint:fix"]),
        ("npm test", ["npm test"]),
        ("go test ./...", ["go test"]),
        ("make check", ["make check"]),
        ("docker ps -a", ["docker ps"]),
        ("kubectl get pods", ["kubectl get"]),
        ("python3 -m pytest -q", ["python3 -m pytest"]),
        ("python3.11 tools/gen.py x", ["python3.11 tools/gen.py"]),
        ("node build.js", ["node build.js"]),
        ("pytest -q tests", ["pytest"]),
        ("ls -la", ["ls"]),
        ("./gradlew test --info", ["./gradlew test", "./gradlew"]),
        ("RUST_BACKTRACE=1 cargo test", ["RUST_BACKTRACE=1 cargo test", "RUST_BACKTRACE=1 cargo"]),
        ("grep -rn 'a b' src", ["grep"]),
        ("cargo 'a b'", ["cargo"]),
        ("cargo test > /dev/null 2>&1", ["cargo test", "cargo"]),
    ],
)
def test_narrow_grants_are_suggested_longest_first(text: str, grants: list[str]) -> None:
    assert suggest(text) == grants
    assert suggest(analyse(text)) == grants


@pytest.mark.parametrize(
    "text",
    [
        *("bash ci.sh", "sh -c 'ls'", "zsh x", "eval ls", "exec ls", ". ./x", "source x"),
        *("env cargo",),
        *("env A=1 cargo", "sudo ls", "doas ls", "xargs ls", "nohup cargo", "nice cargo"),
        *("setsid x",),
        *("timeout 5 cargo", "watch ls", "find . -exec rm {} \\;", "find . -delete"),
        *("find . -name x",),
        *("python3 -c 'x'", "python3", "python", "python3 -", "python3 $X", "perl -e 1"),
        *("ruby x.rb",),
        *("node -e 1", "node", "awk '{print}' x", "sed -n p x", "ssh host ls", "busybox ls"),
        *("strace ls",),
        *("git", "git -C x status", "git -c a=b log", "npm", "npm run", "npm exec x", "npx x"),
        *("docker",),
        *("docker run x", "docker exec a b", "kubectl exec a", "go run .", "make"),
        *("git bisect run x",),
        *("git config a b", "npm run $X", "npm run bash", "rm -rf x", "dd if=a of=b", "curl x"),
        *("chmod x",),
        *("mv a b", "tee x", "time cargo", "parallel x", "su x", "tar xf a", "/usr/bin/env cargo"),
        *("/bin/sh -c ls", "bash5 x", "./env cargo", "uv run python x.py"),
    ],
)  # fmt: skip
def test_nothing_is_suggested_for_programs_that_run_or_destroy_what_they_are_told(
    text: str,
) -> None:
    assert suggest(text) == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "#", "cargo; ls", "cargo && rm x", "cargo $(x)", "cargo > x", "cargo &", "(cargo)"),
        *("if cargo",),
        *("'cargo' test", "$A test", "c*", "A=1 cargo", "LD_PRELOAD=x cargo", "PATH=x cargo"),
        *("A=1",),
        *("printf -v x y", "test -v x", "cargo\0", "cargo \ud800", "cargo 'x", "cd a && ./run.sh"),
        *("x" * 20_000,),
    ],
)  # fmt: skip
def test_nothing_is_suggested_for_a_text_that_no_one_grant_can_cover(text: str) -> None:
    assert suggest(text) == []
    assert suggest(analyse(text)) == []


def test_every_suggestion_is_honoured_and_covers() -> None:
    for text in ("cargo test", "npm run a && npm run a b", "cd a; cd b", "RUST_LOG=x ls -l"):
        found = suggest(text)
        assert 0 < len(found) <= SUGGESTIONS_MAX
        for suggestion in found:
            grant = parse_grant(suggestion)
            assert isinstance(grant, Grant)
            assert grant.text == suggestion
            assert covers(text, [grant]).covered
            assert matches(analyse(text), [grant]).covered
