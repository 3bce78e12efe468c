"""Finds the model that `--provider` and `--model` name, or says what to do instead."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Final

from wcore.errors import ConfigError
from wcore.models import prices
from wcore.models.model import Model
from wcore.models.offline import OfflineModel
from wcore.vocabulary import Usage

_OWN: Final = "`offline` (the built-in stand-in, no key needed) and `script:FILE` (replays a file)"


@dataclass(frozen=True, slots=True)
class ModelEnvironment:
    """What models get from the start of the engine. `environ` holds no keys any more."""

    base_url: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    folder: str = ""  # where relative paths of attached files begin
    stall_s: float | None = None


def create_model(
    provider: str | None, name: str | None, environment: ModelEnvironment = ModelEnvironment()
) -> Model:
    """Return the model; nothing named means `offline`, whatever keys there are.

    Raises:
        ConfigError: no such model here, or its script file is missing or wrong.
    """
    match provider or None, name or None:
        case (None | "offline", None | "offline"):
            return OfflineModel()
        case ("script", None):
            raise ConfigError("provider `script` needs a file: add `--model FILE`")
        case (None | "script", str(path)) if path.startswith("script:"):
            return _scripted(path.removeprefix("script:"))
        case ("script", str(path)):
            return _scripted(path)
        case ("offline", str(other)):
            raise ConfigError(f"provider `offline` has no model `{other}`: leave `--model` out.")
        case (None, str(other)):
            return _native(None, other, environment)
        case (str(vendor), other):
            return _native(vendor.lower(), other, environment)


def model_at_start(provider: str | None, name: str | None, environment: ModelEnvironment) -> Model:
    """Return the model, or one that says to each message why it cannot be had."""
    try:
        return create_model(provider, name, environment)
    except ConfigError as error:
        from wcore.models.unusable import UnusableModel  # noqa: PLC0415 - seldom needed

        again = partial(create_model, provider, environment=environment)
        return UnusableModel(name or provider or "", str(error), again)


def with_name(model: Model, name: str) -> Model:
    """Return the model `name` of the same provider.

    Raises:
        ConfigError: there is no such model.
    """
    if name in ("", "offline") or name.startswith("script:"):
        return create_model(None, name)
    from wcore.models.conversation import ConversationModel  # noqa: PLC0415
    from wcore.models.unusable import UnusableModel  # noqa: PLC0415

    if isinstance(model, ConversationModel):
        return model.renamed(name)
    if isinstance(model, UnusableModel):
        return model.create(name)
    raise ConfigError(
        f"no model `{name}` beside `{model.name}`: a real model is chosen at the start, with "
        f"`--provider` and `--model`. Here there is {_OWN}."
    )


def for_subagent(model: Model, name: str | None) -> Model:
    """Return a model for a conversation beside this one.

    Raises:
        ConfigError: there is no model of that name.
    """
    if name is not None:
        return with_name(model, name)
    from wcore.models.conversation import ConversationModel  # noqa: PLC0415

    return model.renamed(model.name) if isinstance(model, ConversationModel) else model


def has_prices(model: Model) -> bool:
    """Whether it is known what replies of `model` cost."""
    return bool(model.price_provider) and prices.is_installed()


def cost_usd(model: Model, usage: Usage) -> float | None:
    """Return the price of one reply; `None` where nobody knows it."""
    return prices.cost_usd(model.price_provider, model.name, usage)


def _native(vendor: str | None, name: str | None, environment: ModelEnvironment) -> Model:
    # Loaded on first need, as all that only real models use.
    from wcore.models.conversation import ConversationModel  # noqa: PLC0415
    from wcore.models.http.backend import HttpBackend  # noqa: PLC0415
    from wcore.models.http.client import STALL_S, HttpClient  # noqa: PLC0415
    from wcore.models.http.endpoint import endpoint  # noqa: PLC0415
    from wcore.models.providers import PROVIDERS  # noqa: PLC0415
    from wcore.models.pydantic_ai_backend import PYDANTIC_AI_PROVIDERS  # noqa: PLC0415

    if vendor is None:
        assert name, "`offline` is chosen where nothing is named"
        fitting = [p.name for p in PROVIDERS.values() if re.match(p.models, name)]
        if not fitting:
            raise ConfigError(
                f"there is no model `{name}` that needs no `--provider`: name one of "
                f"{', '.join(PROVIDERS)}. Without a provider there is {_OWN}."
            )
        vendor = fitting[0]
    provider = PROVIDERS.get(vendor)
    if provider is None and vendor in PYDANTIC_AI_PROVIDERS:
        if environment.base_url:
            endpoint(vendor, environment.base_url, environment.keys, ())  # says what is wrong
        return _foreign(vendor, name, environment)
    if provider is None:
        known = ", ".join([*PROVIDERS, *PYDANTIC_AI_PROVIDERS])
        raise ConfigError(
            f"there is no provider `{vendor}`. There are {known}; a server that "
            "speaks Chat Completions is `--provider openai` with `--base-url`. Without a provider "
            f"there is {_OWN}."
        )
    name = _named(vendor, name)
    given = environment.base_url or _first(provider.url_names, environment.environ)
    place = endpoint(vendor, given or provider.base_url, environment.keys, provider.key_names)
    http = HttpClient(place, stall_s=environment.stall_s or STALL_S)
    return ConversationModel(HttpBackend(provider, http), name, environment.folder)


def _foreign(vendor: str, name: str | None, environment: ModelEnvironment) -> Model:
    from wcore.models.conversation import ConversationModel  # noqa: PLC0415
    from wcore.models.http.client import STALL_S  # noqa: PLC0415
    from wcore.models.pydantic_ai_backend import PYDANTIC_AI_PROVIDERS, Access, PydanticAiBackend  # noqa: PLC0415

    name = _named(vendor, name)
    if find_spec("pydantic_ai") is None:
        raise ConfigError(f"provider `{vendor}` needs an extra: pip install 'wcore[models]'")
    region = _first(("AWS_REGION", "AWS_DEFAULT_REGION"), environment.environ)
    access = Access(environment.keys, environment.base_url, region)
    backend = PydanticAiBackend(
        PYDANTIC_AI_PROVIDERS[vendor], name, access, environment.stall_s or STALL_S
    )
    return ConversationModel(backend, name, environment.folder)


def _named(vendor: str, name: str | None) -> str:
    if not name or not name.strip():
        raise ConfigError(f"provider `{vendor}` needs a model: add `--model NAME`")
    return name


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def _scripted(path: str) -> Model:
    if not path:
        raise ConfigError("`script:` needs a file: `--model script:FILE`")
    # Loaded on first need: its pydantic models cost milliseconds that no other start should pay.
    from wcore.models.script import ScriptModel  # noqa: PLC0415
    from wcore.models.script_file import load  # noqa: PLC0415

    return ScriptModel(f"script:{path}", load(path))
