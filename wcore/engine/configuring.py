"""Mode and model settings. The mode changes at once, settings never in the middle of a turn.

Hosts redraw themselves on `config_changed`, so during a turn it waits for the turn's end.
"""

from wcore.errors import Code, ConfigError
from wcore.models.choose import choose_model
from wcore.protocol import events
from wcore.protocol.commands import SetConfig
from wcore.session import Session
from wcore.vocabulary import Mode


class Configuring:
    """Applies `set_mode` and `set_config`; keeps what has to wait for the end of the turn."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._late_config: SetConfig | None = None
        self._late_change = False

    async def set_mode(self, mode: Mode, *, during_turn: bool) -> None:
        """Change the mode for later calls; above the ceiling it is refused with `info`."""
        session = self._session
        if mode not in session.modes:
            ceiling = session.settings.max_mode
            await session.info(f"mode {mode} refused: the ceiling of this engine is {ceiling}")
            return
        changed = mode is not session.approvals.mode
        session.approvals.set_mode(mode)
        session.put(events.Info(message=f"mode updated: {mode}"))
        if changed and during_turn:
            self._late_change = True
        elif changed:
            await self._announce()

    async def set_config(self, command: SetConfig, *, during_turn: bool) -> None:
        """Apply now, or after the turn; of several that wait the last one counts."""
        if during_turn:
            self._late_config = command
            await self._session.info("set_config: queued, will apply after current response")
            return
        for event in self._apply(command):
            await self._session.emit(event)

    def apply_late(self) -> None:
        """Queue what waited for the end of the turn, right behind `stream_end`."""
        if self._late_config is not None:
            for event in self._apply(self._late_config):
                self._session.put(event)
        elif self._late_change:
            self._session.put(self._changed())
        self._late_config = None
        self._late_change = False

    def _apply(self, command: SetConfig) -> list[events.Event]:
        session = self._session
        ignored = [
            name
            for name in ("thinking", "thinking_budget", "effort", "compaction")
            if getattr(command, name) is not None
        ]
        found: list[events.Event] = []
        if ignored:
            text = f"set_config: {session.model.name} has no {', '.join(ignored)}"
            found.append(events.Info(message=text))
        if command.model is None or command.model == session.model.name:
            unchanged = [] if ignored else [events.Info(message="set_config: no changes")]
            return [*found, *unchanged, *([self._changed()] if self._late_change else [])]
        try:
            session.model = choose_model(None, command.model)
        except ConfigError as error:
            problem = events.Problem(code=Code.CONFIG, message=str(error))
            changed = [self._changed()] if self._late_change else []
            return [*found, events.Error(error=problem), *changed]
        text = f"config applied: model {command.model}"
        return [*found, events.Info(message=text), self._changed()]

    async def _announce(self) -> None:
        await self._session.emit(self._changed())

    def _changed(self) -> events.ConfigChanged:
        return events.ConfigChanged(capabilities=self._session.capabilities())
