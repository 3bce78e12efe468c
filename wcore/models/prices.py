"""What a reply costs, by a table that others keep: the package genai-prices, when it is there.

Only a provider at its own address is priced; what another server charges, nobody here knows.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from wcore.vocabulary import Usage


@cache
def is_installed() -> bool:
    """Whether the extra `wcore[cost]` is there. Loads nothing."""
    return find_spec("genai_prices") is not None


def load() -> None:
    """Load the table: about a second, so never on the loop."""
    if is_installed():
        import_module("genai_prices")


def cost_usd(provider: str, model: str, usage: Usage) -> float | None:
    """Return the price of one reply in dollars; `None` where the table does not know it."""
    if not provider or not is_installed():
        return None
    import genai_prices  # noqa: PLC0415 - loaded by `load`

    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    counted = genai_prices.Usage(
        input_tokens=read,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        return float(genai_prices.calc_price(counted, model, provider_id=provider).total_price)
    except LookupError:
        return None
