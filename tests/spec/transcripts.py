"""The example conversations of one engine: what the model says, what the host does, and why."""

from typing import Final

from talking import call

from spec.recording import Recorded
from spec.staging import scene

WC: Final = call("Bash", "c1", command="wc -l notes.txt")
NOTES: Final = {"notes.txt": "one\ntwo\n", "more.txt": "three\n"}


@scene(
    [
        {"thinking": "A greeting.", "subject": "Manners"},
        *({"text": "Good "}, {"text": "day."}),
        {"usage": {"input_tokens": 900, "output_tokens": 12}},
    ],
    whole=True,
)
async def plain_turn(host: Recorded) -> None:
    """A plain turn.

    Nothing is called. `usage` counts the whole session.
    """
    await host.turn("hello")


@scene([WC], [{"text": "Two lines."}], files=NOTES)
async def approve_once(host: Recorded) -> None:
    """Approve once.

    The model wants to run a command; the person says yes to this one call.
    """
    await host.message("how long are my notes?")
    await host.hear("tool_request")
    host.note("The call waits. Nothing has run.")
    await host.approve("c1")
    await host.hear("stream_end")


@scene(
    [call("Write", "c1", file_path="notes.txt", content="gone\n")],
    [{"echo": True}],
    files=NOTES,
)
async def deny_with_reason(host: Recorded) -> None:
    """Deny, with a reason.

    The model is told why: its next words are what it was told.
    """
    await host.message("tidy up")
    await host.hear("tool_request")
    await host.deny("c1", reason="Keep my notes as they are.")
    await host.hear("stream_end")


@scene(
    [WC],
    [call("Bash", "c2", command="wc -l notes.txt && wc -l more.txt")],
    [call("Bash", "c3", command="wc -l notes.txt > count.txt")],
    [{"text": "Counted."}],
    files=NOTES,
)
async def prefix_grant(host: Recorded) -> None:
    """A yes for commands that begin alike.

    What the card suggests is what a host offers. The grant covers a text only if it covers every
    command in it, and if the shell itself writes nothing.
    """
    await host.message("count")
    request = await host.hear("tool_request")
    await host.approve("c1", scope=request["suggestions"][-1])
    await host.hear("tool_result")
    host.note("Both commands of the next call begin with the words that were granted: no question.")
    await host.hear("tool_result")
    host.note("The third call would write a file. `span` says which part is in the way.")
    await host.hear("tool_request")
    await host.deny("c3")
    await host.hear("stream_end")


@scene(
    [call("Write", "c1", file_path="notes.txt", content="one\ntwo\nthree!\n")],
    [{"text": "Written."}],
    files=NOTES,
)
async def edited_arguments(host: Recorded) -> None:
    """Change what will run.

    The digest says which call was looked at. `call_settled` has what runs.
    """
    await host.message("add a line")
    request = await host.hear("tool_request")
    args = {"file_path": "notes.txt", "content": "one\ntwo\nthree\n"}
    await host.approve("c1", args=args, digest=request["digest"])
    await host.hear("stream_end")


@scene(
    [call("Read", "c1", file_path="notes.txt")],
    [call("Read", "c2", file_path="more.txt")],
    [{"text": "Read."}],
    files=NOTES,
)
async def lasting_grant(host: Recorded) -> None:
    """A yes that outlives the session, looked at, and taken back.

    `persist` keeps it for this workspace. Every engine of the same user sees it.
    """
    await host.message("read everything")
    await host.hear("tool_request")
    await host.approve("c1", scope="always", persist="project")
    await host.hear("stream_end")
    await host.say(type="list_grants", request_id="r1")
    found = await host.hear("command_result")
    host.note("The person changes their mind. From now on Read asks again.")
    grant = found["grants"][0]["grant_id"]
    await host.say(type="revoke_grant", request_id="r2", grant_id=grant)
    await host.hear("command_result")


ASK: Final = call(
    "AskUserQuestion",
    "c1",
    question="Which target?",
    options=[{"label": "staging"}, {"label": "production"}],
)


@scene([ASK], [{"text": "To staging, then."}], flags=("--hitl-suspend",))
async def question_with_suspend(host: Recorded) -> None:
    """A question to the person.

    `tool_request` is for every host; `approval_required` and `suspend` are for those that put
    questions aside. Either may be answered; here it is the token.
    """
    await host.message("deploy")
    suspended = await host.hear("suspend")
    answer = {"answer": "staging"}
    token = suspended["resume_token"]
    await host.say(type="approval_resume", resume_token=token, approved=True, modifications=answer)
    await host.hear("stream_end")


@scene([WC], [{"text": "As you like."}], files=NOTES)
async def stop(host: Recorded) -> None:
    """Stop.

    What waits is cancelled and never runs; the session lives on.
    """
    await host.message("count")
    await host.hear("tool_request")
    await host.say(type="stop")
    await host.hear("stream_end")
    host.note("An answer that comes too late changes nothing.")
    await host.approve("c1")
    await host.hear("info")
    await host.turn("never mind", "m2")


@scene([WC, call("Bash", "c2", command="wc -l more.txt")], [{"text": "Nobody is there."}])
async def end_of_file(host: Recorded) -> None:
    """End of file.

    The host closes stdin while two calls wait. The turn goes on to its end without asking.
    """
    await host.message("count")
    await host.hear("tool_request", call_id="c2")
    host.note("Here the host closes the engine's stdin.")
    await host.close()


@scene([WC], [{"echo": True}], flags=("--approval-ttl", "1"), files=NOTES)
async def expiry(host: Recorded) -> None:
    """Nobody answers.

    After the time to answer, here one second instead of five minutes, silence is a no.
    """
    await host.message("count")
    await host.hear("tool_request")
    await host.hear("stream_end")
    host.note("Too late:")
    await host.approve("c1")
    await host.hear("info")


@scene(
    [call("Bash", "c1", command="wc -l notes.txt"), call("Bash", "c2", command="wc -l more.txt")],
    [{"echo": True}],
    files=NOTES,
)
async def parallel_calls(host: Recorded) -> None:
    """Several calls at once.

    Both ask at once and are answered in any order. The model gets the results in its own order.
    """
    await host.message("count")
    await host.hear("tool_request", call_id="c2")
    await host.deny("c2", reason="One is enough.")
    await host.hear("tool_cancelled")
    await host.approve("c1")
    await host.hear("stream_end")


POLICY: Final = {".wcore/policy.toml": 'deny = ["Bash(curl *)"]\n'}


@scene(
    [call("Bash", "c1", command="curl https://example.org")],
    [{"echo": True}],
    flags=("--force",),
    files=POLICY,
)
async def policy_deny(host: Recorded) -> None:
    """Denied by a rule.

    The workspace's own policy file says that nothing is fetched. Nobody is asked, not even in mode
    `force`; `why` says which rule it was and where it is written.
    """
    await host.turn("fetch it")


@scene([call("Read", "c1", file_path="notes.txt")], [{"text": "Read."}], files=NOTES)
async def change_of_mode(host: Recorded) -> None:
    """Change the mode.

    Aliases of other engines are understood; an unknown mode is no command.
    """
    await host.say(type="set_mode", mode="auto_accept_read_only")
    await host.hear("config_changed")
    await host.say(type="set_mode", mode="sometimes")
    await host.hear("error")
    host.note("In `read_only` reading runs unasked.")
    await host.turn("read my notes")


@scene([WC], [{"text": "I could not count."}], flags=("--prompts", "none"), files=NOTES)
async def nobody_to_ask(host: Recorded) -> None:
    """Nobody to ask.

    For runs without a person: what would ask is denied and counted.
    """
    await host.turn("count")


@scene(
    [{"text": "I was about to"}, {"error": {"message": "503 overloaded", "retryable": True}}],
    [{"text": "Now then."}],
)
async def failing_model(host: Recorded) -> None:
    """The model fails.

    One `error`, then `stream_end`: the turn is over, the session is not.
    """
    await host.turn("hello")
    await host.turn("again", "m2")


@scene(
    [call("Bash", "c0", command="cat more.txt")],
    [{"text": "Read."}],
    [
        call("Bash", "c1", command="wc -l more.txt"),
        call("Edit", "c2", file_path="notes.txt", old_string="one", new_string="1"),
        call("Edit", "c3", file_path="notes.txt", old_string="two", new_string="2"),
        call("Bash", "c4", command="cat notes.txt"),
    ],
    [{"text": "Done."}],
    flags=("--mode", "auto_edit"),
    files=NOTES,
)
async def order_of_calls(host: Recorded) -> None:
    """Who waits for whom.

    Four calls of one reply in mode `auto_edit`; `cat` is granted first. The first asks. The two
    edits change the same file, so the second is prepared after the first. The last needs no
    question, but commands run after what was called before them.
    """
    await host.message("read more", "m0")
    await host.hear("tool_request")
    await host.approve("c0", scope={"always_prefix": {"prefix": "cat"}})
    await host.hear("stream_end")
    host.note("Now the four calls.")
    await host.message("go")
    await host.hear("tool_result", call_id="c3")
    host.note("The person says yes to the first call; only then comes the last one.")
    await host.approve("c1")
    await host.hear("stream_end")
