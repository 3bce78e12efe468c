"""Codes and tokens: once, for a minute, and nobody else's."""

from wcore_host.web.access_codes import CODE_LIFE_S, CODES_MAX, PAGES_MAX, AccessCodes


class Hands:
    """A clock whose hands tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_code_yields_one_token_and_is_used_up() -> None:
    doors = AccessCodes()
    code = doors.code()
    token = doors.enter(code)
    assert token is not None
    assert doors.page(token) is not None
    assert doors.enter(code) is None


def test_a_code_lives_for_a_minute_and_not_a_moment_longer() -> None:
    hands = Hands()
    doors = AccessCodes(hands)
    young, old = doors.code(), doors.code()
    hands.now += CODE_LIFE_S - 0.001
    assert doors.enter(young) is not None
    hands.now += 0.001
    assert doors.enter(old) is None


def test_a_code_is_no_token_and_a_token_no_code() -> None:
    doors = AccessCodes()
    code = doors.code()
    assert doors.page(code) is None
    token = doors.enter(code)
    assert token is not None
    assert doors.enter(token) is None
    assert doors.page("") is None
    assert doors.page("\ud800") is None


def test_every_page_has_a_token_and_a_name_of_its_own() -> None:
    doors = AccessCodes()
    tokens = {doors.enter(doors.code()) for _ in range(10)}
    assert len(tokens) == 10
    assert len({doors.page(token or "") for token in tokens}) == 10


def test_codes_and_pages_are_bounded_and_the_oldest_is_forgotten() -> None:
    doors = AccessCodes()
    codes = [doors.code() for _ in range(CODES_MAX + 1)]
    assert doors.enter(codes[0]) is None
    tokens = [doors.enter(doors.code()) or "" for _ in range(PAGES_MAX + 1)]
    assert doors.page(tokens[0]) is None
    assert doors.page(tokens[-1]) is not None
