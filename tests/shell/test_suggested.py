"""No prefix that is offered for an everyday command covers a known abuse of its program."""

from collections import defaultdict

from wcore.policy.shell import PrefixGrant, parse_grant, suggest

from .corpus import read_cases
from .gate import decide

#: Everyday commands beside those of the corpus, by their beginnings.
COMMANDS = """
git log|git log --oneline -5|git show HEAD|git diff --stat|git status -s|git branch -a|git tag
git stash list|git stash show|git remote -v|git reflog|git blame a.c|git ls-files|git rev-list HEAD
git cat-file -p HEAD|git config --get user.name|git config --list|git shortlog -sn|git grep -n x
git worktree list|git describe --tags|git rev-parse HEAD|gh pr list|gh pr view 1|gh issue list
gh repo view|gh run list|gh auth status|docker ps -a|docker logs web|docker images|docker inspect x
docker compose ps|docker compose logs|kubectl get pods|kubectl logs x|kubectl describe pod x
aws s3 ls|aws sts get-caller-identity|terraform state list|helm list|npm test|npm run build|npm ls
npm outdated|pnpm test|yarn test|bun test|cargo test|cargo build|cargo clippy|cargo run|cargo check
cargo fmt|cargo tree|go test ./...|go build ./...|go vet ./...|go list ./...|pytest -q|tox -q
python3 -m pytest|python3 -m unittest|python3 -m json.tool a|uv run pytest|poetry run mypy src
make test|make -C x|rake spec|just build|./gradlew test|mvn test|ctest|ninja all|eslint src|jest
vitest run|prettier --check .|tsc --noEmit|ruff check .|ruff format .|mypy src|pylint src|flake8 src
phpunit|rspec|dotnet test|mix test|swift test|bazel test //...|sort a|uniq a|tree -L 2|file a|date
hostname|xxd a|diff a b|rg x|jq . a|find . -name x|ls -l|cat a|head a|tail a|wc -l a|grep x a
cut -f1|du -sh .|df -h|stat a|ps aux|id|uname -a|which x|realpath a|md5sum a|od a|base64 a|nl a
tr a b|pip list|pip show x|rustup show|brew list|apt-cache policy x|systemctl status x
svn log
""".replace("\n", "|").split("|")

TASKS = ("make", "npm run", "mvn", "rake", "just", "gradlew")


def test_no_offered_prefix_covers_a_known_abuse() -> None:
    abuses: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for case in read_cases():
        if case.severity == "argument" and len(case.grants) == 1:
            granted = case.grants[0].strip()
            if not isinstance(parse_grant(granted), PrefixGrant):
                continue
            abuses[granted.split(" ")[0]].append((granted, case.text))
    everyday = [case.text for case in read_cases() if case.covered]
    offered = {prefix for text in (*COMMANDS, *everyday) if text for prefix in suggest(text)}
    assert sum(map(len, abuses.values())) >= 250
    assert len(everyday) >= 400
    assert len(offered) >= 100
    for prefix in offered:
        for granted, text in abuses[prefix.split(" ")[0]]:
            assert not decide(text, [prefix]), (prefix, text)
            if prefix.startswith(f"{granted} ") and granted in TASKS:
                tail = text.removeprefix(granted)
                assert not decide(prefix + tail, [prefix]), prefix + tail
