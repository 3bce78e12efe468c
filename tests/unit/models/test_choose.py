from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.errors import ConfigError
from wcore.models.conversation import ConversationModel
from wcore.models.factory import ModelEnvironment, create_model, model_at_start, with_name
from wcore.models.http.backend import HttpBackend
from wcore.models.unusable import UnusableModel


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
    assert create_model(provider, name).name == "offline"


def test_a_script_is_named_by_the_model_or_by_the_provider(script: str) -> None:
    found = [
        create_model(None, f"script:{script}"),
        create_model("script", script),
        create_model("script", f"script:{script}"),
    ]
    assert {model.name for model in found} == {f"script:{script}"}


@pytest.mark.parametrize(
    ("provider", "name", "vendor"),
    [
        ("openai", "gpt-x", "openai"),
        ("Anthropic", "some-model", "anthropic"),
        ("ollama", "llama3.2", "ollama"),
        (None, "claude-sonnet-4-5", "anthropic"),
        (None, "gpt-5", "openai"),
        (None, "o3", "openai"),
        (None, "mistral-large-latest", "mistral"),
    ],
)
def test_a_provider_is_named_or_found_from_the_model(
    provider: str | None, name: str, vendor: str
) -> None:
    model = create_model(provider, name)
    assert isinstance(model, ConversationModel)
    assert isinstance(model.backend, HttpBackend)
    assert (model.name, model.backend.provider.name) == (name, vendor)


def test_a_key_alone_chooses_nothing() -> None:
    environment = ModelEnvironment(
        keys={"OPENAI_API_KEY": "k"}, environ={"OPENAI_BASE_URL": "http://x"}
    )
    assert create_model(None, None, environment).name == "offline"


def test_another_model_is_of_the_same_provider() -> None:
    model = with_name(create_model("openai", "gpt-5"), "anything")
    assert isinstance(model, ConversationModel)
    assert isinstance(model.backend, HttpBackend)
    assert (model.name, model.backend.provider.name) == ("anything", "openai")


def test_the_stand_in_does_not_become_a_real_model_on_the_way() -> None:
    with pytest.raises(ConfigError, match="`--provider`"):
        with_name(create_model(None, None), "gpt-5")


@pytest.mark.parametrize(
    ("provider", "name", "said"),
    [
        ("acme", None, "there is no provider `acme`.*openai.*`offline`.*`script:FILE`"),
        (None, "acme-9", "no model `acme-9` that needs no `--provider`.*`offline`"),
        ("openai", None, "provider `openai` needs a model: add `--model NAME`"),
        ("openai", " ", "provider `openai` needs a model: add `--model NAME`"),
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
        create_model(provider, name)


WORDS = st.none() | st.text() | st.sampled_from(["openai", "google", "script", "gpt-5", "script:"])
URLS = st.none() | st.text() | st.text().map("http://{}".format) | st.from_regex(r"https?://\S*")


@given(WORDS, WORDS, URLS)
def test_whatever_is_named_there_is_a_model_that_answers_or_says_why_not(
    provider: str | None, name: str | None, url: str | None
) -> None:
    model = model_at_start(provider, name, ModelEnvironment(base_url=url))
    assert isinstance(model, UnusableModel) == _is_refused(provider, name, url)
    assert not isinstance(model, UnusableModel) or model.problem


@pytest.mark.parametrize("url", ["A://[", "ftp://x", "http://", "http://u@x", "http://x?y"])
@pytest.mark.parametrize("provider", ["openai", "google", "bedrock"])
def test_a_url_that_is_none_is_refused_whatever_the_provider(provider: str, url: str) -> None:
    with pytest.raises(ConfigError, match="--base-url: "):
        create_model(provider, "x", ModelEnvironment(base_url=url))


def _is_refused(provider: str | None, name: str | None, url: str | None) -> bool:
    try:
        create_model(provider, name, ModelEnvironment(base_url=url))
    except ConfigError:
        return True
    return False


def test_a_missing_script_is_found_when_the_model_is_chosen(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.jsonl: the model script cannot be read: No such"):
        create_model(None, f"script:{tmp_path / 'none.jsonl'}")
