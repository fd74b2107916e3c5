"""Requests over HTTP: what may be repeated is, while the hub is away or asks for patience."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from .backoff import pause, spread
from .errors import Refused, Stopped


@dataclass
class Rest:
    http: httpx.AsyncClient
    first_pause: float
    stopped: asyncio.Event
    log: Callable[[str], None]
    chance: Callable[[], float] = random.random

    async def json(self, method: str, path: str, **call: Any) -> Any:
        return (await self.call(method, path, **call)).json()

    async def call(self, method: str, path: str, *, once: bool = True, **call: Any) -> httpx.Response:
        """`once`: doing it twice does no more than doing it once, so it is repeated when the connection breaks on the way."""
        attempt = 0
        while not self.stopped.is_set():
            wait = pause(attempt, self.chance(), self.first_pause)
            attempt += 1
            try:
                answer = await self.http.request(method, path, **call)
            except httpx.TransportError as error:
                # Nobody was there to hear it: that may be tried again whatever it is.
                if not once and not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                    raise
                why = str(error) or type(error).__name__
            else:
                if answer.is_success:
                    return answer
                why, asked = refusal(answer)
                wait = wait if asked is None else spread(asked, self.chance())
            self.log(f"{method} {path}: {why} (the agent waits and asks again)")
            await asyncio.sleep(wait)
        raise Stopped("the agent was stopped")


def refusal(answer: httpx.Response) -> tuple[str, float | None]:
    """What the hub says, and how long it asks to wait; raised where waiting does not help."""
    try:
        said = answer.json()
    except ValueError:
        said = {}
    why = said.get("message") or said.get("error") or f"the hub answered {answer.status_code}"
    if answer.status_code not in (429, 503):
        raise Refused(why, said.get("code") or f"HTTP_{answer.status_code}")
    asked = answer.headers.get("retry-after", "")
    return why, float(asked) if asked.isdigit() else None
