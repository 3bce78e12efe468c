"""Commands that the person types with a slash, announced to the editor."""

from typing import Final

from acp.schema import AvailableCommand

from wcore_host.acp.markup import span
from wcore_host.engine import Engine
from wcore_host.errors import CommandFailedError
from wcore_host.headless.grants import covered

COMMANDS: Final = {
    "grants": ("what you have allowed for longer than one call", ""),
    "revoke": ("take a grant back; /grants lists them", "the id of a grant"),
    "continue": ("go on with a turn that was interrupted", ""),
    "model": ("talk to another model", "the model's name"),
}


def announced() -> list[AvailableCommand]:
    """Return the commands as ACP announces them."""
    return [
        AvailableCommand.model_validate(
            {"name": name, "description": about, **({"input": {"hint": hint}} if hint else {})}
        )
        for name, (about, hint) in COMMANDS.items()
    ]


async def obey(line: str, engine: Engine) -> str | None:
    """Do what `line` says and return what to tell; `None` if it is no command of ours."""
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    if not line.startswith("/") or name not in COMMANDS:
        return None
    try:
        match name:
            case "grants":
                return await _grants(engine)
            case "revoke":
                taken = rest.strip() and await engine.revoke_grant(rest.strip())
                return "Taken back." if taken else "There is no grant of that id; see /grants."
            case _:
                return await _model(rest.strip(), engine)
    except CommandFailedError as error:
        return f"/{name}: {span(str(error), 400)}"


async def _grants(engine: Engine) -> str:
    rows = [
        f"- {span(grant.grant_id)} {span(covered(grant))}"
        f" ({grant.persist}, used {grant.uses} times)"
        for grant in await engine.list_grants()
    ]
    return "\n".join([*rows, "", "/revoke ID takes one back."] if rows else ["Nothing is granted."])


async def _model(name: str, engine: Engine) -> str:
    if name:
        await engine.send({"type": "set_config", "model": name})
        await engine.ping()  # answered in order: now the model is what it will be
    return f"The model is {span(engine.capabilities.current_model)}."
