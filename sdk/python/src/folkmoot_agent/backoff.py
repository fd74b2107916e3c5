"""How long to wait before the next attempt: doubling, bounded, with chance in it so that agents do not march in step."""

import re


def pause(attempt: int, chance: float, first: float = 1.0, longest: float = 30.0) -> float:
    """One second at first, half a minute at most, give or take a quarter. `chance` is a random number from 0 to 1."""
    doubled = min(longest, first * 2 ** min(attempt, 30))
    return float(doubled * (0.75 + 0.5 * chance))


def asked_pause(sentence: str) -> float | None:
    """How long the hub asks to wait, from its sentence (`…; retry in 3 s`); none where it does not say."""
    found = re.search(r"(?:retry|try again) in (\d+) s", sentence)
    return float(found[1]) if found else None


def spread(asked: float, chance: float) -> float:
    """At least as long as the hub asks, and not all at once."""
    return asked * (1 + 0.25 * chance)


def is_temporary(code: str) -> bool:
    """Refusals that changed nothing and may pass."""
    return code in ("RATE_LIMITED", "INTERNAL_ERROR")
