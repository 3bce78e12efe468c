"""Every time limit of a case is multiplied by the slack that the person gives."""

import sys
from typing import Final

import pytest
from conformance.judging import runner_of

from wcore.conformance.cases import Case, Tier
from wcore.conformance.json_object import JsonObject
from wcore.conformance.outcomes import Status

SLACK: Final = 0.01  # what is not multiplied outlasts the case, and is found so
LONG_S: Final = 30
SILENT: Final = (sys.executable, "-c", "import time; time.sleep(100_000)", "{base_url}", "{flags}")
#: kind of step: the steps, and what the report says.
STEPS: Final[dict[str, tuple[tuple[JsonObject, ...], str]]] = {
    "run": (({"run": [], "within_s": LONG_S},), "does not end in time"),
    "hear": (({"start": []}, {"hear": "ready", "within_s": LONG_S}), "nothing comes"),
    "gone": (({"start": []}, {"gone": True, "within_s": LONG_S}), "does not end within 0.3 s"),
    "exit": (({"start": []}, {"exit": 0, "within_s": LONG_S}), "does not end"),
    "needs": (({"needs": "--frobnicate"},), "--help does not name --frobnicate"),
}


@pytest.mark.clock
@pytest.mark.parametrize("kind", STEPS)
async def test_no_step_outlasts_its_limit_times_the_slack(kind: str) -> None:
    steps, says = STEPS[kind]
    case = Case("slow", "", Tier.MANDATORY, ("WC-CMD-001",), steps, "", manual=True)
    outcome = await runner_of(SILENT, SLACK).run(case)
    assert outcome.status is (Status.NOT_TESTED if kind == "needs" else Status.FAIL)
    assert says in outcome.reason
