"""The model of an engine that cannot have the one it was started with: says why, to each message.

A wrong model is no reason not to start: hosts show what a conversation answers, and often nothing
of an engine that is gone.
"""

from collections.abc import AsyncGenerator, Callable

from anyio.lowlevel import checkpoint

from wcore.models.errors import UnusableModelError
from wcore.models.model import Delta, Model, Request


class UnusableModel:
    """Stands for the model `name`. `create` makes the one of another name, or says why not."""

    price_provider = ""
    thinks = False
    effort_levels = ()
    window_tokens = None

    def __init__(self, name: str, problem: str, create: Callable[[str], Model]) -> None:
        self.name = name
        self.problem = problem
        self.create = create

    def warm(self) -> None:
        """Nothing to do."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield nothing.

        Raises:
            UnusableModelError: always.
        """
        del request
        await checkpoint()
        raise UnusableModelError(self.problem)
        yield  # a generator, as every model's stream
