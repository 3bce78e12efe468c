"""Mode and model settings. The mode changes at once, settings never in the middle of a turn.

Hosts redraw themselves on `config_changed`, so during a turn it waits for the turn's end.
"""

from msgspec.structs import replace

from wcore.engine.capabilities import capabilities
from wcore.errors import Code, ConfigError
from wcore.models.factory import with_name
from wcore.models.model import Model, ThinkingSettings
from wcore.protocol import events
from wcore.protocol.commands import SetConfig
from wcore.session.session import Session
from wcore.vocabulary import MODE_ALIASES


class ConfigCommands:
    """Applies `set_mode` and `set_config`; keeps what has to wait for the end of the turn."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._late_config: SetConfig | None = None
        self._late_change = False

    async def set_mode(self, name: str, *, during_turn: bool) -> None:
        """Change the mode for later calls; above the ceiling it is refused with `emit_info`."""
        session, mode = self._session, MODE_ALIASES[name]
        ceiling = session.settings.max_mode
        if mode.rank > ceiling.rank:
            await session.emit_info(f"mode {mode} refused: the ceiling of this engine is {ceiling}")
            return
        before = session.mode_name
        session.approvals.set_mode(mode)
        session.mode_name = name
        session.persistence.tiers.mean_mode()
        session.emit_nowait(events.Info(message=f"mode updated: {_in_words(name)}"))
        changed = session.mode_name != before
        if changed and during_turn:
            self._late_change = True
        elif changed:
            await self._announce()

    async def set_config(self, command: SetConfig, *, during_turn: bool) -> None:
        """Apply now, or after the turn; of several that wait the last one counts."""
        if during_turn:
            self._late_config = command
            await self._session.emit_info("set_config: queued, will apply after current response")
            return
        for event in self._apply(command):
            await self._session.emit(event)

    def tell_of_loss(self, *, during_turn: bool) -> None:
        """Say that the store was lost, before anybody acts without it."""
        session = self._session
        text = session.secrets.redact(session.persistence.consequences or "")
        session.emit_nowait(events.Info(message=text))
        if during_turn:
            self._late_change = True
        else:
            session.emit_nowait(self._changed())

    def apply_deferred(self) -> None:
        """Queue what waited for the end of the turn, right behind `stream_end`."""
        if self._late_config is not None:
            for event in self._apply(self._late_config):
                self._session.emit_nowait(event)
        elif self._late_change or self._session.ceiling_lowered:
            self._session.emit_nowait(self._changed())
        self._late_config = None
        self._late_change = self._session.ceiling_lowered = False

    def _apply(self, command: SetConfig) -> list[events.Event]:
        """Apply what the model can do, and say what it cannot."""
        session = self._session
        try:
            model = self._chosen(command.model) if command.model else session.model
        except ConfigError as error:
            problem = events.Problem(code=Code.CONFIG, message=session.secrets.redact(str(error)))
            return [events.Error(error=problem), *self._waiting()]
        tuning, applied, refused = _tuned(command, model, session.thinking_settings)
        if model.name != session.model.name:
            applied.insert(0, f"model {model.name}")
        session.model, session.thinking_settings = model, tuning
        said = [f"set_config: {model.name} has no {', '.join(refused)}"] if refused else []
        if applied:
            said.append(f"config applied: {', '.join(applied)}")
        found = [events.Info(message=text) for text in said or ["set_config: no changes"]]
        return [*found, *([self._changed()] if applied else self._waiting())]

    def _chosen(self, name: str) -> Model:
        return with_name(self._session.model, name)

    def _waiting(self) -> list[events.Event]:
        return [self._changed()] if self._late_change else []

    async def _announce(self) -> None:
        await self._session.emit(self._changed())

    def _changed(self) -> events.ConfigChanged:
        return events.ConfigChanged(capabilities=capabilities(self._session))


def _in_words(name: str) -> str:
    mode = MODE_ALIASES[name]
    return name if name == mode else f"{name} ({mode})"


def _tuned(
    command: SetConfig, model: Model, old: ThinkingSettings
) -> tuple[ThinkingSettings, list[str], list[str]]:
    """Return the new tuning, what changed in words, and what `model` does not have."""
    new = old if old.effort in (None, *model.effort_levels) else replace(old, effort=None)
    refused: list[str] = ["compaction"] if command.compaction is not None else []
    if command.thinking is not None or command.thinking_budget is not None:
        if not model.thinks:
            refused.append("thinking")
        else:
            is_on = new.thinking if command.thinking is None else command.thinking == "enabled"
            budget = command.thinking_budget or new.thinking_budget_tokens
            new = replace(new, thinking=is_on, thinking_budget_tokens=budget)
    if command.effort is not None and command.effort not in model.effort_levels:
        levels = ", ".join(model.effort_levels)
        refused.append(f"effort {command.effort} (it has {levels})" if levels else "effort")
    elif command.effort is not None:
        new = replace(new, effort=command.effort)
    return new, _differences(old, new), refused


def _differences(old: ThinkingSettings, new: ThinkingSettings) -> list[str]:
    found: list[str] = []
    if new.thinking != old.thinking:
        found.append(f"thinking {'enabled' if new.thinking else 'disabled'}")
    if new.thinking_budget_tokens != old.thinking_budget_tokens:
        found.append(f"thinking budget {new.thinking_budget_tokens}")
    if new.effort != old.effort:
        found.append(f"effort {new.effort or 'as the provider has it'}")
    return found
