"""The providers: where they are, what their keys are called, and how each differs. Data only."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from wcore.vocabulary import Json


class DialectName(StrEnum):
    """How a provider is talked to."""

    CHAT = "chat"
    ANTHROPIC = "anthropic"


class ToolRules(Struct, frozen=True):
    """What a provider wants of tools beyond what all are sent; see `tool_schemas.py`.

    `parameter_names` is a pattern for the names of parameters; `needed`: a history with calls is
    refused without tools.
    """

    parameter_names: str = ""
    needed: bool = False


#: Of the Messages API, there and behind Bedrock.
MESSAGES_RULES: Final = ToolRules(r"[a-zA-Z0-9_.-]{1,64}", needed=True)


class Provider(Struct, frozen=True):
    """One provider; the fields from `max_tokens_field` on are for the chat dialect.

    `models` is a pattern for names that need no `--provider`; `thinking_models` for names that can
    be told how hard to think. Paths lead to a field of the request: `("reasoning", "effort")`.
    """

    name: str
    base_url: str
    key_names: tuple[str, ...] = ()
    url_names: tuple[str, ...] = ()
    dialect: DialectName = DialectName.CHAT
    models: str = r"(?!)"
    thinking_models: str = ""
    max_tokens_field: str = "max_tokens"
    usage_option: bool = True  # `stream_options.include_usage` is known
    images: bool = True
    thinking_on: Mapping[str, Json] | None = None
    thinking_off: Mapping[str, Json] | None = None
    budget_path: tuple[str, ...] = ()
    effort_path: tuple[str, ...] = ()
    effort_levels: tuple[str, ...] = ()
    thinking_back: str = ""  # the field in which the model wants its thinking back
    call_id: str = r"[A-Za-z0-9_-]{1,64}"  # what the id of a call may look like


_EFFORT: Final = ("low", "medium", "high")
_REASONING_EFFORT: Final = ("reasoning_effort",)

PROVIDERS: Final[Mapping[str, Provider]] = {
    provider.name: provider
    for provider in (
        Provider(
            "openai",
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            ("OPENAI_BASE_URL",),
            models=r"(?:gpt-|chatgpt-|o\d)",
            thinking_models=r"(?:o\d|gpt-[5-9]|gpt-oss)",
            max_tokens_field="max_completion_tokens",
            effort_path=_REASONING_EFFORT,
            effort_levels=("minimal", *_EFFORT),
        ),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1",
            ("ANTHROPIC_API_KEY",),
            ("ANTHROPIC_BASE_URL",),
            dialect=DialectName.ANTHROPIC,
            models=r"claude-",
        ),
        Provider("ollama", "http://127.0.0.1:11434/v1", effort_path=_REASONING_EFFORT,
                 effort_levels=_EFFORT, thinking_models=r"(?:gpt-oss|qwen3|deepseek|magistral)"),
        Provider("vllm", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",)),
        Provider("lmstudio", "http://127.0.0.1:1234/v1", ("LMSTUDIO_API_KEY",)),
        Provider("llamacpp", "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",)),
        Provider(
            "openrouter",
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            thinking_on={"reasoning": {"enabled": True}},
            thinking_off={"reasoning": {"enabled": False}},
            budget_path=("reasoning", "max_tokens"),
            effort_path=("reasoning", "effort"),
            effort_levels=_EFFORT,
        ),
        Provider("groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",),
                 max_tokens_field="max_completion_tokens", effort_path=_REASONING_EFFORT,
                 effort_levels=_EFFORT, thinking_models=r"(?:openai/)?gpt-oss"),
        Provider("mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",),
                 models=r"(?:mistral|codestral|devstral|magistral|ministral)-",
                 usage_option=False, call_id=r"[A-Za-z0-9]{9}"),
        Provider(
            "deepseek",
            "https://api.deepseek.com/v1",
            ("DEEPSEEK_API_KEY",),
            models=r"deepseek-",
            images=False,
            thinking_on={"thinking": {"type": "enabled"}},
            thinking_off={"thinking": {"type": "disabled"}},
            thinking_back="reasoning_content",
        ),
        Provider("gemini", "https://generativelanguage.googleapis.com/v1beta/openai",
                 ("GEMINI_API_KEY", "GOOGLE_API_KEY"), models=r"gemini-",
                 effort_path=_REASONING_EFFORT, effort_levels=_EFFORT),
        Provider("xai", "https://api.x.ai/v1", ("XAI_API_KEY",), models=r"grok-"),
        Provider("together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
        Provider("fireworks", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
        Provider("cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), images=False,
                 max_tokens_field="max_completion_tokens"),
    )
}  # fmt: skip

WINDOW_TOKENS: Final = 128_000  # what a model has that the table does not know
_WINDOWS_TOKENS: Final = (  # the first pattern that begins the name counts
    (r"claude-", 200_000),
    (r"gpt-4\.1", 1_000_000),
    (r"gpt-[5-9]", 272_000),
    (r"gpt-4(?:-\d{4}.*)?\Z", 8_192),
    (r"gpt-3\.5", 16_000),
    (r"o\d", 200_000),
    (r"gemini-", 1_000_000),
    (r"grok-", 131_000),
)


def window_tokens(model: str) -> int:
    """Return how much the model reads; a vendor before the name (`openai/gpt-5`) is passed over."""
    name = model.rpartition("/")[2]
    found = (tokens for pattern, tokens in _WINDOWS_TOKENS if re.match(pattern, name))
    return next(found, WINDOW_TOKENS)
