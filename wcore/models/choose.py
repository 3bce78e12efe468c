"""Finds the model that `--provider` and `--model` name, or says what to do instead."""

from typing import Final

from wcore.errors import ConfigError
from wcore.models import Model
from wcore.models.offline import OfflineModel

_PLANNED: Final = ("openai", "anthropic")
_HERE: Final = (
    "This version has `offline` (the built-in stand-in, no key needed) and `script:FILE` "
    "(replays a file)"
)


def choose_model(provider: str | None, name: str | None) -> Model:
    """Return the model; nothing named means `offline`.

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
        case (None, str(other)):
            raise ConfigError(_no_model(other))
        case (str(other), _) if other.lower() in _PLANNED:
            raise ConfigError(
                f"provider `{other}` is not built yet in this version. {_HERE}; "
                "leave `--provider` and `--model` out to start with `offline`."
            )
        case ("offline", str(other)):
            raise ConfigError(f"provider `offline` has no model `{other}`: leave `--model` out.")
        case _:
            raise ConfigError(
                f"there is no provider `{provider}`. {_HERE}; `openai` and `anthropic` are not "
                "built yet. Leave `--provider` out to start with `offline`."
            )


def _no_model(name: str) -> str:
    return (
        f"there is no model `{name}`. {_HERE}; models of `openai` and `anthropic` are not built "
        "yet. Leave `--model` out to start with `offline`."
    )


def _scripted(path: str) -> Model:
    if not path:
        raise ConfigError("`script:` needs a file: `--model script:FILE`")
    # Loaded on first need: its pydantic models cost milliseconds that no other start should pay.
    from wcore.models.script import ScriptModel  # noqa: PLC0415
    from wcore.models.script_file import load  # noqa: PLC0415

    return ScriptModel(f"script:{path}", load(path))
