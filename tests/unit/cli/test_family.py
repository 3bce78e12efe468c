"""Arguments of other engines of the family: each is obeyed, or it is said that it has no effect."""

import json
from collections.abc import Callable

import pytest
from talking import Conversation, call

from wcore.cli.family import FAMILY
from wcore.cli.options import Options, read
from wcore.errors import UsageError
from wcore.vocabulary import Mode

Talk = Callable[..., Conversation]
KEY = "sk-family-0123456789abcdef"

#: What is obeyed: the arguments, and what of the options they make.
OBEYED: dict[tuple[str, ...], Callable[[Options], object]] = {
    ("-p", "openai"): lambda o: o.provider == "openai",
    ("-m", "gpt-5"): lambda o: o.model == "gpt-5",
    ("-b", "http://x"): lambda o: o.base_url == "http://x",
    ("-c",): lambda o: o.resume == "latest",
    ("--continue",): lambda o: o.resume == "latest",
    ("--yolo",): lambda o: o.mode is Mode.FORCE,
    ("--max-turns", "0"): lambda o: o.max_turns == 0,
    ("--thinking", "enabled"): lambda o: o.family.settings == {"thinking": "enabled"},
    ("--thinking-budget", "7"): lambda o: o.family.settings == {"thinking_budget": 7},
    ("--compaction", "safe"): lambda o: o.family.settings == {"compaction": "safe"},
}
#: What has no effect here, as hosts pass it.
IGNORED: tuple[tuple[str, ...], ...] = (
    ("--api-key", KEY), ("-k", KEY), ("--assistant", "a"), ("--profile", "p"), ("--agent", "a"),
    ("--project-dir", "d"), ("--trust-workspace",), ("--allow-host-path-grants",),
    ("--allow-host-workspace-grants",), ("--allow-host-budget-grants",), ("--dangerous",),
    ("--dangerously-skip-permissions-and-sandbox",), ("--dangerous-ttl-secs", "9"),
    ("--runtime-engine-mode", "raw"), ("--runtime-workspace-kind", "none"),
    ("--log-level", "debug"), ("--log-dir", "d"), ("--no-color",), ("--no-tui",),
    ("--no-memory",), ("--toon",),
)  # fmt: skip
NONE = read([], {})


def test_every_argument_of_the_family_is_one_or_the_other() -> None:
    tried = {words[0] for words in (*OBEYED, *IGNORED)} | {"--build-info"}
    assert {option.name for option in FAMILY} <= tried
    for option in FAMILY:
        assert sum(map(bool, (option.ours, option.setting, option.instead))) == 1, option.name


def test_what_we_have_is_obeyed() -> None:
    for words, does in OBEYED.items():
        for rest in ([], ["--json-stream"]):
            options = read([*rest, *words], {})
            assert does(options), words
            assert options.family.notices == (), words


def test_what_we_have_not_changes_nothing_and_is_told_once_without_its_value() -> None:
    for words in IGNORED:
        options = read([*words, "--json-stream", *words], {})
        (notice,) = options.family.notices
        name = {"-k": "--api-key"}.get(words[0], words[0])
        assert notice.startswith(f"{name} has no effect: "), words
        for other in set(Options.__struct_fields__) - {"family"}:
            assert getattr(options, other) == getattr(NONE, other), (words, other)
        assert KEY not in notice
        assert options.family.secrets == ((KEY,) if KEY in words else ()), words


def test_a_value_is_taken_with_an_equals_sign_too() -> None:
    for words in (*OBEYED, *IGNORED):
        if len(words) == 2 and words[0].startswith("--"):
            assert read(["=".join(words)], {}) == read(list(words), {}), words


def test_a_typo_stays_an_error() -> None:
    ours = ("--max-mode", "--mode", "--cwd", "--prompts", "--store", "--provider")
    names = [*ours, *(option.name for option in FAMILY if option.name.startswith("--"))]
    known = {*names, *(word for option in FAMILY for word in option.ours)}
    typos = {typo for name in names for typo in (name[:-1], f"{name}x", name[1:])} - known
    for typo in sorted(typos | {"-max-mode=read_only", "-popenai", "-x", "-mforce", "-ccc"}):
        for words in ([typo], [typo, "x"], [f"{typo}=x"]):
            with pytest.raises(UsageError):
                read(words, {})


def test_what_lacks_its_value_or_has_one_too_many_is_an_error() -> None:
    for words in (*OBEYED, *IGNORED):
        wrong = list(words[:1]) if len(words) == 2 else [f"{words[0]}=x"]
        with pytest.raises(UsageError):
            read(wrong, {})


def test_force_by_another_name_is_below_the_ceiling_too() -> None:
    with pytest.raises(UsageError, match="ceiling"):
        read(["--yolo", "--max-mode", "auto_edit"], {})


@pytest.mark.anyio
async def test_hosts_are_told_after_ready_what_has_no_effect(talk: Talk) -> None:
    flags = [word for words in IGNORED for word in words]
    says = [call("Bash", "c1", command=f"printf %s%s {KEY[:9]} {KEY[9:]}")]
    async with talk(says, [], flags=("--json-stream", *flags)) as host:
        ready = await host.ready()
        assert ready["capabilities"]["current_mode"] == "default"
        infos = [event["message"] for event in await host.quiet() if event["type"] == "info"]
        expected = {option.name for option in FAMILY if option.instead}
        assert {text.partition(" ")[0] for text in infos} == expected
        assert len(infos) == len(expected)
        await host.message()
        await host.hear("tool_request")
        await host.approve("c1")
        await host.hear("stream_end")
        assert KEY not in json.dumps(host.heard)


@pytest.mark.anyio
async def test_settings_of_the_command_line_are_as_if_the_host_had_sent_them(talk: Talk) -> None:
    for words, says in {
        ("--compaction", "safe"): "has no compaction",
        ("--thinking", "enabled"): "has no thinking",
    }.items():
        async with talk([], flags=("--json-stream", *words)) as host:
            await host.ready()
            assert says in (await host.hear("info"))["message"]
            await host.turn()


@pytest.mark.anyio
async def test_a_desktop_starts_the_engine_with_all_it_passes(talk: Talk) -> None:
    whose = ("--assistant", "wayland-desktop", "--profile", "__wayland_desktop_session")
    flags = ("--json-stream", "--provider", "openai", "--model", "m", "--session-id", "x", *whose)
    async with talk(flags=flags, env={"OPENAI_API_KEY": "sk-0123456789"}) as host:
        assert (await host.ready())["session_id"] == "x"
        assert [e["type"] for e in await host.quiet()] == ["info", "info"]
