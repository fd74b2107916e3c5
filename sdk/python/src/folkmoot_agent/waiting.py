"""Waiting for what somebody says next.

Looked up when the wait begins and after every reconnect, so nothing said meanwhile is missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .api import Message
from .errors import Stopped, WaitTimeout
from .rest import Rest

#: How many messages one look goes through; `after` gives the oldest ones first.
PAGE = 200


@dataclass(frozen=True)
class Spoken:
    """As much of a message as it takes to know whether it was waited for."""

    channel_id: str
    thread_id: str | None
    sender_id: str
    seq: int


@dataclass(frozen=True)
class Place:
    """Whose next words are waited for, and where."""

    channel: str
    #: The thread it goes on in; none in the channel itself.
    thread: str | None
    #: Messages below which everything is meant: the agent's own and those that woke it.
    own: frozenset[str]
    #: In an open channel only who asked is waited for; none where everybody is meant.
    sender: str | None
    #: What was said up to this position is known.
    after: int

    def fits(self, said: Spoken, my_id: str) -> bool:
        if said.channel_id != self.channel or said.sender_id == my_id or said.seq <= self.after:
            return False
        if said.thread_id in self.own:
            return True
        return said.thread_id == self.thread and self.sender in (None, said.sender_id)


@dataclass(eq=False)
class Waiter:
    place: Place
    message: asyncio.Future[Message]


@dataclass
class Waiting:
    rest: Rest
    stopped: asyncio.Event
    _waiters: set[Waiter] = field(default_factory=set)

    async def next(self, place: Place, my_id: str, timeout: float | None) -> Message:
        waiter = Waiter(place, asyncio.get_running_loop().create_future())
        self._waiters.add(waiter)
        stop: asyncio.Future[Any] = asyncio.ensure_future(self.stopped.wait())
        try:
            await self._look(waiter, my_id)
            both: set[asyncio.Future[Any]] = {waiter.message, stop}
            await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if waiter.message.done():
                return waiter.message.result()
            raise Stopped("the agent was stopped") if stop.done() else WaitTimeout(f"nobody said anything within {timeout} s")
        finally:
            stop.cancel()
            self._waiters.discard(waiter)

    def heard(self, message: Message, my_id: str) -> None:
        """A message came."""
        for waiter in self._waiters:
            if not waiter.message.done() and waiter.place.fits(spoken(message), my_id):
                waiter.message.set_result(message)

    def expects(self, said: Iterable[Spoken], my_id: str) -> bool:
        """Whether one of these is what somebody waits for: a wake may come before the message, when both were missed."""
        said = list(said)
        return any(waiter.place.fits(one, my_id) for waiter in self._waiters for one in said)

    async def look_again(self, my_id: str) -> None:
        """The connection was lost for a while."""
        await asyncio.gather(*(self._look(waiter, my_id) for waiter in list(self._waiters)))

    async def _look(self, waiter: Waiter, my_id: str) -> None:
        after = waiter.place.after
        while not waiter.message.done():
            query = {"after": after, "replies": "true", "limit": PAGE}
            path = f"/v1/channels/{waiter.place.channel}/messages"
            page: list[Message] = await self.rest.json("GET", path, params=query)
            found = next((message for message in reversed(page) if waiter.place.fits(spoken(message), my_id)), None)
            if found and not waiter.message.done():
                waiter.message.set_result(found)
            if len(page) < PAGE:
                return
            after = max(message["seq"] for message in page)


def spoken(message: Message) -> Spoken:
    return Spoken(message["channel_id"], message.get("thread_id"), message["sender_id"], message["seq"])
