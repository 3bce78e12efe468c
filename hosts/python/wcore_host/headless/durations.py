"""Durations as people read them. Pure."""


def seconds(elapsed: float) -> str:
    """Return a duration as people read it."""
    whole = int(elapsed)
    return f"{whole} s" if whole < 60 else clock(whole)


def clock(whole_s: int) -> str:
    """Return whole seconds as minutes and seconds."""
    return f"{whole_s // 60}:{whole_s % 60:02}"
