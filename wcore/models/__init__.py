"""Language models behind one small streaming interface, which `model.py` defines.

`factory.py` finds the model that the settings name. A model only speaks; it never
acts.
"""

from wcore.models.model import (
    CallReady,
    Delta,
    Finished,
    FinishReason,
    Model,
    Notice,
    Request,
    Text,
    Thinking,
    ThinkingSettings,
)

__all__ = [
    "CallReady",
    "Delta",
    "FinishReason",
    "Finished",
    "Model",
    "Notice",
    "Request",
    "Text",
    "Thinking",
    "ThinkingSettings",
]
