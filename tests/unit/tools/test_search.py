import ctypes
import os
import shutil
import threading
from pathlib import Path

import anyio
import pytest
import waiting
from unit.tools.room import Room

from wcore.errors import ToolError
from wcore.tools.builtin import grep
from wcore.tools.builtin.grep import Grep
from wcore.tools.fs.walk import Root
from wcore.tools.search import grep_worker
from wcore.tools.search.ripgrep import HANDLES_MAX
from wcore.vocabulary import Access

RIPGREP = shutil.which("rg")
SWAPPED_SEARCHES = 12  # without the care that is tested here every fourth of them leaks
needs_rg = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")


@pytest.fixture(params=[pytest.param("rg", marks=needs_rg), "worker"])
def searcher(room: Room, request: pytest.FixtureRequest) -> str:
    """Run a test with ripgrep and with our own worker."""
    room.tools["Grep"] = Grep(room.environment, RIPGREP if request.param == "rg" else None)
    return str(request.param)


def _tree(room: Room) -> None:
    room.put(".gitignore", "build/\n*.log\n")
    room.put("src/a.py", "import os\nNEEDLE = 1\nend\n")
    room.put("src/deep/b.py", "needle\n")
    room.put("build/c.py", "NEEDLE\n")
    room.put("src/run.log", "NEEDLE\n")
    room.put(".github/ci.yml", "NEEDLE: 1\n")
    room.put(".git/config", "NEEDLE\n")
    room.put(".env", "NEEDLE=secret\n")
    room.put("docs/.env.local", "other\n")
    (room.folder / "out").symlink_to(room.home)
    (room.home / "out.py").write_text("NEEDLE\n")
    (room.folder / "src/link.py").symlink_to(room.home / "out.py")


async def test_grep_finds_lines_in_order_and_leaves_out_what_it_must(
    room: Room, searcher: str
) -> None:
    _tree(room)
    done = await room.call("Grep", pattern="NEEDLE")
    assert done.output == (
        ".github/ci.yml:1:NEEDLE: 1\nsrc/a.py:2:NEEDLE = 1\n[2 protected files left out]\n"
    )


async def test_the_count_of_protected_files_does_not_depend_on_what_they_hold(
    room: Room, searcher: str
) -> None:
    _tree(room)
    notes = {
        (await room.call("Grep", pattern=pattern)).output.splitlines()[-1]
        for pattern in ("NEEDLE=secret", "NEEDLE=wrong", "import")
    }
    assert notes == {"[2 protected files left out]"}


async def test_naming_a_protected_file_searches_it_after_the_gate(
    room: Room, searcher: str
) -> None:
    _tree(room)
    prepared = await room.prepare("Grep", pattern="NEEDLE", path=".env")
    assert prepared.accesses[0].path == f"{room.folder}/.env"
    assert prepared.accesses[0].access is Access.READ
    assert ".env:1:NEEDLE=secret" in (await room.run(prepared)).output


async def test_grep_options_work_alike(room: Room, searcher: str) -> None:
    _tree(room)
    done = await room.call("Grep", pattern="needle", ignore_case=True, glob="*.py", context=1)
    assert done.output == (
        "src/a.py-1-import os\nsrc/a.py:2:NEEDLE = 1\nsrc/a.py-3-end\n--\nsrc/deep/b.py:1:needle\n"
    )


async def test_results_are_the_first_in_order_up_to_the_limit(room: Room, searcher: str) -> None:
    for name in ("c", "a", "b"):
        room.put(name, "x\nx\nx\n")
    done = await room.call("Grep", pattern="x", max_results=4)
    assert done.output.splitlines()[:4] == ["a:1:x", "a:2:x", "a:3:x", "b:1:x"]
    assert "first 4 matching lines" in done.output


async def test_a_pattern_is_never_an_option_or_a_file(room: Room, searcher: str) -> None:
    room.put("-f", "--files\n")
    assert "-f:1:--files" in (await room.call("Grep", pattern="--files")).output
    assert "-f:1:--files" in (await room.call("Grep", pattern="--files", path="-f")).output


async def test_a_bad_regular_expression_is_an_error_for_the_model(
    room: Room, searcher: str
) -> None:
    room.put("a", "x")
    with pytest.raises(ToolError, match=r"(?i)unclosed|unterminated"):
        await room.call("Grep", pattern="(")


async def test_odd_names_bytes_and_lines_cannot_forge_or_break_the_result(
    room: Room, searcher: str
) -> None:
    room.put("bad\udcff", b"x \xff\r\n")
    room.put("two\nb:1:forged", "x\n")
    room.put("esc\x1b[2J", "x\n")
    room.put("long", "y" * 500_000 + "x" + "y" * 500_000)
    room.put("bin", b"x\0\0x\n")
    os.mkfifo(room.folder / "pipe")  # whoever opens it waits for a writer
    lines = (await room.call("Grep", pattern="x")).output.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "bad⟨U+DCFF⟩", "esc⟨U+001B⟩[2J", "long", "two⏎b",
    ]  # fmt: skip
    assert lines[0].endswith(":1:x �")
    assert "yyxyy" in lines[2]
    assert len(lines[2]) < 1200
    "\n".join(lines).encode()


async def test_no_match_is_said(room: Room, searcher: str) -> None:
    room.put("a", "x")
    assert (await room.call("Grep", pattern="nothing")).output == "[no match]\n"


async def test_a_folder_exchanged_for_a_link_is_not_searched(room: Room, searcher: str) -> None:
    room.put("sub/a", "x")
    (room.home / "b").write_text("x")
    prepared = await room.prepare("Grep", pattern="x", path="sub")
    (room.folder / "sub").rename(room.folder / "old")
    (room.folder / "sub").symlink_to(room.home)
    with pytest.raises(ToolError, match="link"):
        await room.run(prepared)


async def test_a_settings_file_of_ripgrep_is_not_read(
    room: Room, searcher: str, tmp_path: Path
) -> None:
    _tree(room)
    settings = tmp_path / "rc"
    settings.write_text("--no-ignore\n")
    room.environment.environ["RIPGREP_CONFIG_PATH"] = str(settings)  # type: ignore[index]
    assert "build/c.py" not in (await room.call("Grep", pattern="NEEDLE")).output


CATASTROPHE = r"(a+)+$"


async def test_a_catastrophic_pattern_is_ended_by_the_deadline(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.tools["Grep"] = Grep(room.environment, None)
    monkeypatch.setattr(grep, "DEADLINE_S", 0.2)
    room.put("a", "a" * 60 + "b")
    with waiting.patience():
        done = await room.call("Grep", pattern=CATASTROPHE)
    assert "stopped after 0.2 s" in done.output
    assert room.supervisor.programs() == []


async def test_a_cancelled_search_leaves_no_process(room: Room) -> None:
    room.tools["Grep"] = Grep(room.environment, None)
    room.put("a", "a" * 60 + "b")
    with waiting.patience():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(room.run, await room.prepare("Grep", pattern=CATASTROPHE))
            await waiting.until(room.supervisor.programs, "a search")
            tasks.cancel_scope.cancel()
    assert room.supervisor.programs() == []


@needs_rg
def test_the_ripgrep_of_the_machine_is_used(room: Room) -> None:
    tool = room.tools["Grep"]
    assert isinstance(tool, Grep)
    assert tool.ripgrep is not None


@needs_rg
async def test_many_results_come_in_several_batches(room: Room) -> None:
    room.tools["Grep"] = Grep(room.environment, RIPGREP)
    names = [f"file{number:03}" for number in range(2 * HANDLES_MAX + 1)]
    for name in names:
        room.put(name, "x\n")
    done = await room.call("Grep", pattern="x", max_results=len(names) + 1)
    assert done.output.splitlines() == [f"{name}:1:x" for name in names]


async def test_glob_finds_names_by_the_same_rules(room: Room) -> None:
    _tree(room)
    assert (await room.call("Glob", pattern="*.py")).output == "src/a.py\nsrc/deep/b.py\n"
    assert (await room.call("Glob", pattern="src/*.py")).output == "src/a.py\n"
    assert (await room.call("Glob", pattern=".github/**")).output == ".github/ci.yml\n"
    done = await room.call("Glob", pattern="**/.env*")
    assert done.output == "[no file matches]\n[2 protected files left out]\n"


async def test_glob_in_a_folder_is_relative_to_it(room: Room) -> None:
    _tree(room)
    done = await room.call("Glob", pattern="*.py", path="src/deep")
    assert done.output == f"b.py\n[relative to {room.folder}/src/deep]\n"


async def test_a_glob_that_leads_elsewhere_names_its_root_to_the_gate(room: Room) -> None:
    (room.home / "x.py").write_text("")
    for pattern in (f"{room.home}/*.py", "~/*.py", "../home/*.py"):
        prepared = await room.prepare("Glob", pattern=pattern)
        assert [touch.path for touch in prepared.accesses] == [str(room.home)]
        assert (await room.run(prepared)).output.startswith("x.py\n")
    with pytest.raises(ToolError, match=r"\.\."):
        await room.prepare("Glob", pattern="*/../../home/*.py")


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("lnk/*.py", ".", "c.py"),
        ("./lnk/**/*.py", ".", "c.py deep/d.py"),
        ("lnk/deep/*.py", ".", "d.py"),
        ("lnk/c.py", ".", "c.py"),
        ("apps/inner/*.py", ".", "d.py"),
        ("inner/*.py", "apps", "d.py"),
        ("real/*.py", "~/way", "c.py"),
        ("{}/lnk/*.py", ".", "c.py"),
        ("{}/src/*.py", ".", "c.py"),
        ("src/*.py", ".", "src/c.py"),
        ("./src//*.py", ".", "src/c.py"),
        ("*/*.py", ".", "src/c.py"),
        ("**/*.py", ".", "src/c.py src/deep/d.py"),
        ("l*/*.py", ".", ""),
        ("{{lnk,x}}/*.py", ".", ""),
    ],
)
async def test_glob_follows_the_links_that_a_pattern_names_and_no_others(
    room: Room, pattern: str, path: str, found: str
) -> None:
    room.put("src/c.py")
    room.put("src/deep/d.py")
    room.put("apps/x")
    (room.folder / "lnk").symlink_to("src")
    (room.folder / "apps/inner").symlink_to("../src/deep")
    (room.home / "way").mkdir()
    (room.home / "way/real").symlink_to(room.folder / "src")
    prepared = await room.prepare("Glob", pattern=pattern.format(room.folder), path=path)
    assert prepared.accesses[0].path.startswith(str(room.folder))
    names = (await room.run(prepared)).output.splitlines()
    assert [name for name in names if not name.startswith("[")] == found.split()


async def test_a_link_that_a_glob_names_and_that_leads_away_is_named_to_the_gate(
    room: Room,
) -> None:
    (room.folder / "lnk").symlink_to(room.home)
    prepared = await room.prepare("Glob", pattern="lnk/*.py")
    assert [touch.path for touch in prepared.accesses] == [str(room.home)]


async def test_glob_results_are_bounded_sorted_and_counted(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wcore.tools.builtin.glob.RESULTS_MAX", 3)
    for name in "edcba":
        room.put(name)
    done = await room.call("Glob", pattern="*")
    assert done.output == "a\nb\nc\n[3 of 5 files shown; narrow the pattern]\n"


async def test_ls_shows_kinds_and_counts_what_is_left_out(room: Room) -> None:
    _tree(room)
    assert (await room.call("LS")).output == (
        f".github/\n.gitignore\ndocs/\nout -> {room.home}\nsrc/\n"
        "[2 protected files left out]\n[1 ignored by git left out]\n"
    )
    assert (await room.call("LS", path="src")).output == (
        f"a.py\ndeep/\nlink.py -> {room.home}/out.py\n[1 ignored by git left out]\n"
    )


async def test_ls_of_an_ignored_or_protected_folder_shows_it(room: Room) -> None:
    _tree(room)
    assert (await room.call("LS", path="build")).output == "c.py\n"
    assert (await room.call("LS", path=".git")).output == "config\n"


async def test_ls_of_what_is_no_folder_says_what_it_is(room: Room) -> None:
    room.put("a")
    with pytest.raises(ToolError, match="is a file"):
        await room.call("LS", path="a")
    with pytest.raises(ToolError, match="No such file"):
        await room.call("LS", path="missing")


async def test_ls_names_cannot_break_out_of_their_line(room: Room) -> None:
    room.put("a\nb")
    (room.folder / "c").symlink_to("x\ny")
    assert (await room.call("LS")).output == "a⏎b\nc -> x⏎y\n"


def test_a_root_that_is_exchanged_during_a_search_is_noticed(room: Room) -> None:
    room.put("sub/a")
    root = Root(room.environment, f"{room.folder}/sub")
    (room.folder / "sub").rename(room.folder / "old")
    (room.folder / "sub").mkdir()
    with pytest.raises(ToolError, match="exchanged"):
        root.require_same()


def test_a_result_that_became_a_link_or_lies_behind_one_is_left_out(room: Room) -> None:
    room.put("real/a")
    (room.home / "a").write_text("")
    (room.folder / "link").symlink_to(room.home)
    (room.folder / "b").symlink_to(room.home / "a")
    root = Root(room.environment, str(room.folder))
    assert root.holds("real/a")
    assert not root.holds("link/a")
    assert not root.holds("b")
    assert not root.holds("gone")


@pytest.mark.parametrize("swapped", ["folder", "file"])
async def test_what_is_swapped_for_a_link_meanwhile_is_not_read(
    room: Room, searcher: str, swapped: str
) -> None:
    """Another program puts a link in the place of a part of the path, and takes it away again."""
    for name in ("f.txt", "only.txt"):
        (room.home / name).write_text("outside\n")
    room.put("d/f.txt", "inside\n")
    place = "d" if swapped == "folder" else "d/f.txt"
    room.folder.joinpath("swap").symlink_to(room.home / ("f.txt" if swapped == "file" else ""))
    over = threading.Event()
    swapper = threading.Thread(target=_swap, args=(room.folder / place, room.folder / "swap", over))
    swapper.start()
    try:
        for _ in range(SWAPPED_SEARCHES):
            done = await room.call("Grep", pattern="outside|inside")
            assert "outside" not in done.output
            assert "only" not in (await room.call("Glob", pattern="**/*.txt")).output
    finally:
        over.set()
        swapper.join()


def _swap(one: Path, other: Path, over: threading.Event) -> None:
    libc, here, exchange = ctypes.CDLL(None, use_errno=True), -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    while not over.is_set():
        assert libc.renameat2(here, bytes(one), here, bytes(other), exchange) == 0
        over.wait(0.0002)


def test_the_worker_runs_isolated(room: Room) -> None:
    room.put("json.py", "raise SystemExit('hijacked')\n")
    done = waiting.run(["python3", "-I", "-S", grep_worker.__file__], said="{", cwd=room.folder)
    assert "hijacked" not in done.stderr
    assert "JSONDecodeError" in done.stderr
