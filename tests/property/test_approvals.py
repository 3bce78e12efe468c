"""Approvals as a whole: any order of questions, answers, silence, stop and end of file.

The model is a few lines: the first thing that ends a call counts, and an answer counts only
before the deadline. The manager must agree with it after every step.
"""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from unit.approval.parking import Parking, always

from wcore.approval.manager import ApprovalResult, Approved, Denied, Pending
from wcore.approval.table import State, UnknownCallError
from wcore.vocabulary import By, Category, Mode

TTL_S = 300
TIMED_OUT = Denied("approval timed out (no host response)", By.TIMEOUT)
TOOLS = st.sampled_from(["Bash", "Write", "mcp__a__b"])
MARGINS = st.sampled_from([0.0, 0.1, 29.9, 30.0, 150.0, 299.9, 300.0, 1000.0])


@dataclass
class Question:
    """What the model knows of one call."""

    entry: Pending
    tool: str
    deadline: float
    result: ApprovalResult | None = None
    abandoned: bool = False


class Approvals(RuleBasedStateMachine):
    questions = Bundle("questions")

    def __init__(self) -> None:
        super().__init__()
        self.parking = Parking(ttl_s=TTL_S)
        self.manager = self.parking.manager
        self.asked: list[Question] = []
        self.granted: list[str] = []
        self.mode = Mode.DEFAULT

    @property
    def now(self) -> float:
        return self.parking.clock.now

    @property
    def parked(self) -> list[Question]:
        return [question for question in self.asked if question.result is None]

    def settle(self, question: Question, result: ApprovalResult) -> bool:
        """Say what the model expects of an answer: whether it counts."""
        if question.result is not None:
            return False
        in_time = self.now < question.deadline
        question.result = result if in_time else TIMED_OUT
        return in_time

    # --- what can happen ----------------------------------------------------------------------

    @rule(target=questions, tool=TOOLS, suspend=st.booleans())
    def request(self, tool: str, suspend: bool) -> Question:
        call_id = f"c{len(self.asked)}"
        entry = self.parking.park(call_id, tool, Category.EXEC, suspend=suspend)
        question = Question(entry, tool, self.now + TTL_S)
        self.asked.append(question)
        return question

    @rule(question=questions, scoped=st.booleans(), answer=st.none() | st.text(max_size=3))
    def approve(self, question: Question, scoped: bool, answer: str | None) -> None:
        call_id = question.entry.call_id
        counts = self.settle(question, Approved(answer, always=scoped))
        if not scoped:
            assert self.manager.try_resolve(call_id, Approved(answer)) is counts
            return
        try:
            self.manager.approve(call_id, (always(question.tool, call_id),), answer)
            took = True
        except UnknownCallError:
            took = False
        assert took is counts
        if counts and question.tool not in self.granted:
            self.granted.append(question.tool)

    @rule(question=questions, by=st.sampled_from([By.USER, By.POLICY]))
    def deny(self, question: Question, by: By) -> None:
        result = Denied("no", by)
        counts = self.settle(question, result)
        assert self.manager.try_resolve(question.entry.call_id, result) is counts

    @rule(by=st.sampled_from([By.STOP, By.SIGNAL, By.HOST_GONE]))
    def end_everything(self, by: By) -> None:
        waiting = self.parked
        assert self.manager.resolve_all("over", by) == len(waiting)
        for question in waiting:
            question.result = Denied("over", by)

    @rule()
    def reap(self) -> None:
        gone = [q for q in self.parked if q.abandoned or self.now >= q.deadline]
        assert self.manager.reap_now() == len(gone)
        for question in gone:
            question.result = TIMED_OUT

    @rule(question=questions)
    def look(self, question: Question) -> None:
        if question.result is None and self.now >= question.deadline:
            question.result = TIMED_OUT
        found = self.manager.pending(question.entry.call_id)
        assert found is (question.entry if question.result is None else None)

    @rule(question=questions)
    def abandon(self, question: Question) -> None:
        if question.result is None:
            question.abandoned = question.entry.abandoned = True  # what a cancelled wait does

    @rule(mode=st.sampled_from(Mode))
    def change_mode(self, mode: Mode) -> None:
        self.mode = mode
        self.manager.set_mode(mode)

    @rule(seconds=MARGINS)
    def let_time_pass(self, seconds: float) -> None:
        self.parking.clock.now += seconds

    @rule(text=st.sampled_from(["", "c999", "rt-", "c0 "]))
    def answer_nobody(self, text: str) -> None:
        assert self.manager.try_resolve(text, Approved()) is False
        assert self.manager.call_of_token(text) is None

    # --- what always holds --------------------------------------------------------------------

    @invariant()
    def the_manager_agrees_with_the_model(self) -> None:
        for question in self.asked:
            assert question.entry.result == question.result
        assert len(self.manager) == len(self.parked)
        assert self.manager.mode is self.mode

    @invariant()
    def a_call_may_run_exactly_if_it_was_approved(self) -> None:
        for question in self.asked:
            state = self.parking.ledger.state(question.entry.call_id)
            match question.result:
                case None:
                    assert state is State.WAITING
                case Approved():
                    assert state is State.CLEARED
                case Denied():
                    assert state is None

    @invariant()
    def grants_come_from_approvals_that_counted(self) -> None:
        tools = ("Bash", "Write", "mcp__a__b")
        known = [tool for tool in tools if self.manager.is_tool_name_auto_approved(tool)]
        assert sorted(known) == sorted(self.granted)
        assert len(self.parking.grants) == len(self.granted)

    @invariant()
    def exactly_the_tokens_of_parked_calls_are_alive(self) -> None:
        for question in self.asked:
            token = question.entry.resume_token
            if token:
                alive = question.entry.call_id if question.result is None else None
                assert self.manager.call_of_token(token) == alive


Approvals.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, print_blob=True
)
test_every_question_is_answered_once_and_never_after_its_deadline = Approvals.TestCase
