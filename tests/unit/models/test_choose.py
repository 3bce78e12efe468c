from pathlib import Path

import pytest

from wcore.errors import Code, ConfigError
from wcore.models.choose import choose_model


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "demo.jsonl"
    path.write_text('{"say": [{"text": "hi"}]}\n')
    return str(path)


@pytest.mark.parametrize(
    ("provider", "name"),
    [(None, None), ("", ""), (None, "offline"), ("offline", None), ("offline", "offline")],
)
def test_without_a_choice_the_model_is_offline(provider: str | None, name: str | None) -> None:
    assert choose_model(provider, name).name == "offline"


def test_a_script_is_named_by_the_model_or_by_the_provider(script: str) -> None:
    found = [
        choose_model(None, f"script:{script}"),
        choose_model("script", script),
        choose_model("script", f"script:{script}"),
    ]
    assert {model.name for model in found} == {f"script:{script}"}


@pytest.mark.parametrize("provider", ["openai", "anthropic", "OpenAI"])
def test_a_planned_provider_is_said_to_be_not_built_yet(provider: str) -> None:
    with pytest.raises(ConfigError, match=r"not built yet in this version.*`offline`") as caught:
        choose_model(provider, "large")
    assert caught.value.code is Code.INIT


@pytest.mark.parametrize(
    ("provider", "name", "said"),
    [
        ("acme", None, "there is no provider `acme`.*`offline`.*`script:FILE`"),
        (None, "gpt-9", "there is no model `gpt-9`.*`offline`.*`script:FILE`"),
        ("offline", "large", "provider `offline` has no model `large`"),
        ("script", None, "needs a file: add `--model FILE`"),
        (None, "script:", "needs a file: `--model script:FILE`"),
        ("script", "script:", "needs a file: `--model script:FILE`"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(
    provider: str | None, name: str | None, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        choose_model(provider, name)


def test_a_missing_script_is_found_when_the_model_is_chosen(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.jsonl: the model script cannot be read: No such"):
        choose_model(None, f"script:{tmp_path / 'none.jsonl'}")
