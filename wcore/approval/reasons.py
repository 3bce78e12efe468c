"""Why a call did not run, or not to its end, word for word, as the specification prints it."""

from typing import Final

from wcore.approval.manager import REASON_TIMEOUT
from wcore.vocabulary import By

USER: Final = "denied by the user"  # when the host gives no reason of its own
TIMEOUT: Final = REASON_TIMEOUT
HOST_GONE: Final = "nobody can answer: the host closed its command stream"
NO_PROMPTS: Final = "nobody can answer: the engine was started with --prompts none"
STOP: Final = "stopped by the user"
SIGNAL: Final = "the engine was told to exit"
WITHDRAWN: Final = "withdrawn: the call that asked is over"
RULE: Final = "denied by policy: "  # followed by `why.detail`

BY_SETTLER: Final = {By.STOP: STOP, By.SIGNAL: SIGNAL, By.HOST_GONE: HOST_GONE, By.TIMEOUT: TIMEOUT}
