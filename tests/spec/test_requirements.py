"""Every requirement is numbered once, and says who is bound by it, how, and when."""

import re
from collections import Counter
from itertools import groupby

from spec.requirements import SPEC, requirements
from wcore.protocol.parts import Capabilities

WITHDRAWN = frozenset(
    re.findall(r"^\| (WC-[A-Z]+-\d{3}) \|", (SPEC / "README.md").read_text(), re.MULTILINE)
)


def test_ids_name_an_area_and_count_through_it_in_order() -> None:
    for area, group in groupby(requirements(), key=lambda each: each.area):
        numbers = [each.id for each in group]
        gone = [each for each in WITHDRAWN if each.startswith(f"WC-{area}-")]
        last = len(numbers) + len(gone)
        every = [f"WC-{area}-{at:03}" for at in range(1, last + 1)]
        assert numbers == [each for each in every if each not in WITHDRAWN]


def test_an_area_stands_in_one_place() -> None:
    areas = Counter(area for area, _ in groupby(requirements(), key=lambda each: each.area))
    assert set(areas.values()) == {1}


def test_each_says_who_must_do_it_and_how_strictly() -> None:
    for each in requirements():
        assert each.level in ("MUST", "SHOULD", "MAY"), each.id
        assert each.side in ("engine", "host"), each.id
        assert each.text.endswith("."), each.id


def test_no_two_say_the_same() -> None:
    texts = Counter(each.text for each in requirements())
    assert [text for text, count in texts.items() if count > 1] == []


def test_capabilities_are_those_of_the_protocol() -> None:
    named = {each.capability for each in requirements() if each.capability}
    assert named <= set(Capabilities.model_fields)


def test_what_is_proved_inside_names_a_test_that_exists() -> None:
    root = SPEC.parent
    assert [r.id for r in requirements() if r.inside and not (root / r.inside).is_file()] == []


def test_requirements_that_are_named_anywhere_exist() -> None:
    known = {each.id for each in requirements()} | WITHDRAWN
    text = "".join(path.read_text() for path in SPEC.rglob("*.md"))
    text += (SPEC / "requirements.toml").read_text()
    assert set(re.findall(r"WC-[A-Z]+-\d{3}", text)) <= known
