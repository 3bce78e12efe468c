"""Tiers, overrides and trust as a host sees and changes them: one `command_result` a command."""

from collections.abc import Sequence

from anyio import to_thread
from msgspec.structs import replace

from wcore.approval import reasons
from wcore.approval.manager import Denied
from wcore.engine.commands import changes, grants
from wcore.errors import RefusedError
from wcore.persistence.tiers import BUILT_IN, MCP
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts
from wcore.policy.grants import MAIN_AGENT, GrantBook
from wcore.policy.rules.lint import nearest
from wcore.policy.rules.rule_index import STRICTNESS
from wcore.policy.tiers import MCP_PREFIX, Assigned, Tier
from wcore.protocol import commands
from wcore.session.session import Session
from wcore.visible import visible_line
from wcore.vocabulary import By, Category, Json, Verdict

OfTiers = commands.ListPermissions | commands.SetAgentTools | commands.SetToolOverride
Asked = OfTiers | commands.TrustWorkspace | commands.AcceptChanges | commands.GiveGrant


async def answer(session: Session, command: Asked) -> dict[str, object]:
    """Obey `command`; return what the answer to it says.

    Raises:
        WcoreError: it was not obeyed.
    """
    policy = session.policy
    if isinstance(command, OfTiers):
        await policy.tiers.preload_for_agent(command.agent or MAIN_AGENT, policy.user_id)
    match command:
        case commands.ListPermissions():
            return {"agents": _agents(session, command.agent)}
        case commands.SetAgentTools():
            return await _set_tools(session, command)
        case commands.SetToolOverride():
            return await _set_override(session, command)
        case commands.TrustWorkspace():
            return await _trust(session, command)
        case commands.GiveGrant():
            return await grants.give(session, command)
        case commands.AcceptChanges():
            return await changes.accept(session, command.digest)


def _agents(session: Session, agent: str | None) -> list[dict[str, object]]:
    name = agent or MAIN_AGENT
    policy = session.policy
    now, held = (find(name, policy.user_id) for find in (policy.tiers.now, policy.tiers.held))
    overrides = now.user_overrides & held.user_overrides  # what waits does not count
    assigned = policy.tiers.assigned(name) or {}
    unlisted = [tool for tool in session.tools if tool not in assigned and now.offers(tool)]
    grants = session.grants if name == policy.agent else GrantBook()
    offered = frozenset((*assigned, *unlisted))
    both = policy.decision_contexts(session.approvals.mode, grants, offered)
    contexts = [
        replace(context, tiers=tiers, agent=name)
        for context, tiers in ((both[0], now), (both[-1], held))
    ]
    tools: list[dict[str, object]] = []
    for tool, row in {**assigned, **dict.fromkeys(unlisted)}.items():
        source = "none" if row is None else "explicit" if row.tier else "default"
        tools.append(
            {
                "name": tool,
                "category": _category(session, tool),
                "provider_key": MCP if tool.startswith(MCP_PREFIX) else BUILT_IN,
                "status": row.effective if row else Tier.NEEDS_APPROVAL,
                "status_source": source,
                "override": tool in overrides,
                "verdict": _strictest(Facts(tool, _category(session, tool)), contexts),
            }
        )
    return [{"agent": name, "tools": tools, "only": now.is_assigned or None}]


def _strictest(facts: Facts, contexts: Sequence[DecisionContext]) -> Verdict:
    verdicts = (decide(facts, each).verdict for each in contexts)
    return max(verdicts, key=lambda verdict: STRICTNESS[verdict])


async def _set_tools(session: Session, command: commands.SetAgentTools) -> dict[str, object]:
    named = [tool.name for tool in command.tools or ()]
    for name in named:
        if named.count(name) > 1:
            raise RefusedError(f"{visible_line(name, 60)!r} is named twice; nothing was changed")
        if not _may_exist(session, name):
            raise RefusedError(f"{_unknown(session, name)}; nothing was changed")
    tools = None
    if command.tools is not None:
        tools = {
            tool.name: Assigned(
                tool.name, _category(session, tool.name), Tier(tool.status) if tool.status else None
            )
            for tool in command.tools
        }
    before = session.policy.tiers.assigned(command.agent) or {}
    await session.policy.tiers.assign(command.agent, tools, only=command.only is not False)
    for tool, row in (tools or {}).items():
        if row.tier is Tier.ALWAYS_ALLOW and before.get(tool) != row:
            await _tell_of_order(session, command.agent, tool, "set_agent_tools")
    for call_id, card in list(session.cards.items()):
        if card.prepared.tool not in card.owner.offered_tools:  # blocked while it waited
            reason = f"{reasons.RULE}{card.prepared.tool} is not offered"
            session.approvals.try_resolve(call_id, Denied(reason, By.POLICY))
    return {"agents": _agents(session, command.agent)}


async def _set_override(session: Session, command: commands.SetToolOverride) -> dict[str, object]:
    policy = session.policy
    if command.approve_always and not policy.may_grant:
        raise RefusedError("the policy forbids grants, and an override is one")
    if command.approve_always and not _may_exist(session, command.tool):
        raise RefusedError(f"{_unknown(session, command.tool)}; nothing was changed")
    await policy.tiers.override(
        command.agent, policy.user_id, command.tool, approve=command.approve_always
    )
    if command.approve_always:
        await _tell_of_order(session, command.agent, command.tool, "set_tool_override")
    return {}


async def _tell_of_order(session: Session, agent: str, tool: str, how: str) -> None:
    """Say what a standing yes covers: no card can give one to every command that lasts."""
    if _category(session, tool) is Category.EXEC:
        await session.emit_info(
            f"every {tool} call of {agent} in this project now runs without a question, also in "
            f"later sessions, until {how} takes it back"
        )


async def _trust(session: Session, command: commands.TrustWorkspace) -> dict[str, object]:
    files, rules = session.policy.files, session.policy.rules
    folder = files.places.workspace
    project = await to_thread.run_sync(files.project)
    if not command.trusted:
        await to_thread.run_sync(files.trust.revoke, folder)
        rules.distrust()
    elif project.digest is None:
        raise RefusedError(f"{folder}/.wcore holds more than can be reviewed, or links")
    elif command.digest is not None:
        if command.digest != project.digest:
            raise RefusedError("the files are not those of that digest any more; nothing changed")
        await to_thread.run_sync(files.trust.trust, folder, project.digest)
        found = await to_thread.run_sync(files.look)
        if found.policies.trusted:  # then they are still the files of that digest
            rules.trust(found)
    kept = await to_thread.run_sync(files.trust.digest_of, folder)
    listed: list[Json] = [{"path": path, "digest": digest} for path, digest in project.digests()]
    trusted = kept is not None and kept == project.digest
    return {"trusted": trusted, "files": listed, "digest": project.digest}


def _may_exist(session: Session, tool: str) -> bool:
    """Whether there is such a tool, or may be once a server is connected."""
    return tool in session.tools or tool.startswith(MCP_PREFIX)


def _unknown(session: Session, tool: str) -> str:
    meant = nearest(tool, session.tools)
    hint = f"; do you mean {meant}?" if meant else ""
    return f"there is no tool {visible_line(tool, 60)!r}{hint}"


def _category(session: Session, tool: str) -> Category:
    known = session.tools.get(tool)
    if known is not None:
        return known.spec.category
    return Category.MCP if tool.startswith(MCP_PREFIX) else Category.EXEC
