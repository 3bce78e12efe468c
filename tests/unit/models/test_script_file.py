from pathlib import Path

import pytest

from wcore.errors import ConfigError
from wcore.models import script_file
from wcore.models.script_file import load


def written(folder: Path, *lines: str | bytes) -> str:
    path = folder / "s.jsonl"
    path.write_bytes(b"\n".join(x.encode() if isinstance(x, str) else x for x in lines))
    return str(path)


def test_blank_lines_and_comments_are_skipped_but_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff# a demo", "", '{"say": []}\r', "  ", '{"say": []}')
    assert [line.place for line in load(path)] == [f"{path}:3", f"{path}:5"]


def test_an_empty_script_is_a_script(tmp_path: Path) -> None:
    assert load(written(tmp_path)) == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "Invalid JSON"),
        (b'{"say": [{"text": "\xff"}]}', "Invalid JSON"),
        ("[]", "object"),
        ("{}", "say: Field required"),
        ('{"say": [], "hear": 1}', "hear: Extra inputs are not permitted"),
        ('{"say": [{}]}', "say.0: an item has exactly one of text, thinking, call"),
        ('{"say": ["text"]}', "say.0: an item has exactly one of"),
        ('{"say": [{"text": "a", "echo": true}]}', "say.0: an item has exactly one of"),
        ('{"say": [{"text": 1}]}', "say.0.text: Input should be a valid string"),
        ('{"say": [{"text": "a", "repeat": 0}]}', "say.0.text.repeat: "),
        ('{"say": [{"text": "a", "repeat": 100001}]}', "say.0.text.repeat: "),
        ('{"say": [{"call": {}}]}', "say.0.call.name: Field required"),
        ('{"say": [{"call": {"name": "a", "args": []}}]}', "say.0.call.args: "),
        ('{"say": [{"call": {"name": "a", "args": {}, "raw": ""}}]}', "exclude each other"),
        ('{"say": [{"call": {"name": "a", "args": {"b": 1e999}}}]}', "write it with `raw`"),
        ('{"say": [{"error": {}}]}', "say.0.error.message: Field required"),
        ('{"say": [{"error": {"message": "", "code": "busy"}}]}', "say.0.error.code: "),
        ('{"say": [{"stall": false}]}', "say.0.stall: "),
        ('{"say": [{"stall": true}, {"text": "a"}]}', "nothing can follow"),
        ('{"say": [{"stall_ms": 600001}]}', "say.0.stall_ms: "),
        ('{"say": [{"finish": "error"}]}', "say.0.finish: "),
        ('{"say": [{"usage": {"input_tokens": -1}}]}', "say.0.usage.input_tokens: "),
        ('{"say": [], "expect": [{"where": "sky", "text": "a"}]}', "expect.0."),
    ],
)
def test_a_wrong_line_is_named_with_file_line_and_place(
    tmp_path: Path, line: str | bytes, said: str
) -> None:
    path = written(tmp_path, "# one", line)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert said in str(caught.value)


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(str(tmp_path))


def test_a_name_with_a_nul_is_no_script() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load("a\0b")


def test_a_script_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, '{"say": []}')
    monkeypatch.setattr(script_file, "FILE_BYTES_MAX", 11)
    assert len(load(path)) == 1
    monkeypatch.setattr(script_file, "FILE_BYTES_MAX", 10)
    with pytest.raises(ConfigError, match="10 bytes, not more"):
        load(path)
