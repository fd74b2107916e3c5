"""A text that grows where everybody sees it, and becomes the answer to a wake."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

from .errors import StreamStopped
from .link import Link

#: How often the growing text is shown, in seconds; more often nobody can read.
SHOW_EVERY = 0.25
MAX_SHOWN_CHARS = 10_000


@dataclass(eq=False)
class Stream:
    link: Link
    #: The run that the hub shows.
    run_id: str
    _text: str = ""
    _timer: asyncio.TimerHandle | None = None
    _state: Literal["open", "stopped", "ended"] = "open"

    def write(self, more: str) -> None:
        """Adds to the text. Fails when people have stopped it."""
        if self._state == "stopped":
            raise StreamStopped
        if self._state == "ended":
            raise RuntimeError("this answer has ended")
        self._text += more
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SHOW_EVERY, self._show)

    async def end(self, text: str | None = None) -> None:
        """The text is the answer now; with `text` that is."""
        await self._complete(state="completed", answer=self._text if text is None else text)

    def stop(self) -> None:
        """Somebody wants it to end."""
        if self._state == "open":
            self._state = "stopped"

    @property
    def stopped(self) -> bool:
        return self._state == "stopped"

    async def settle(self, error: str | None) -> None:
        """How it ends when its handler did not end it: visibly."""
        answer = {"answer": self._text} if self._text else {}
        if self._state == "stopped":
            await self._complete(state="cancelled", **answer)
        elif error is not None:
            await self._complete(state="failed", error=error, **answer)
        else:
            await self.end()

    def _show(self) -> None:
        self._timer = None
        if self._state == "open":
            self.link.tell("run.progress", {"run_id": self.run_id, "text": self._text[:MAX_SHOWN_CHARS]})

    async def _complete(self, **how: Any) -> None:
        if self._state == "ended":
            return
        self._state = "ended"
        if self._timer is not None:
            self._timer.cancel()
        await self.link.request("run.complete", {"run_id": self.run_id, **how})
