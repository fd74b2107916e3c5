"""The connection to the hub over time: made, kept, made again. A request is repeated under its own id until it is answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from .backoff import asked_pause, is_temporary, pause, spread
from .errors import Refused, Stopped

Data = dict[str, Any]

#: The largest frame that a hub reads; a larger one would end the connection, again and again.
MAX_FRAME_BYTES = 65_536
#: A hub that does not answer for so long is gone.
ANSWER_TIMEOUT = 20.0
MAX_HEARD_BYTES = 16 << 20


@dataclass
class Frame:
    type: str
    data: Data
    reply_to: str | None = None

    @property
    def sentence(self) -> str:
        return str(self.data.get("message") or self.data.get("error") or "refused")

    @property
    def code(self) -> str:
        return str(self.data.get("code") or "")


@dataclass
class Request:
    text: str
    answer: asyncio.Future[Data]
    #: How often it went out.
    sent: int = 0


@dataclass
class Link:
    #: `ws://…/ws`.
    url: str
    key: str
    #: The data of `agent.hello`, said after every log-in.
    hello: Data
    first_pause: float
    log: Callable[[str], None]
    on_frame: Callable[[Frame], None]
    #: Logged in and greeted: what was open is being sent again.
    on_ready: Callable[[], None]
    chance: Callable[[], float] = random.random
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _requests: dict[str, Request] = field(default_factory=dict)
    _socket: ClientConnection | None = None
    _sending: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self) -> None:
        """Connects until `stop`; fails when the hub refuses the key."""
        attempt = 0
        try:
            while not self.stopped.is_set():
                greeted, why = await self._until_stopped(self._connection())
                if self.stopped.is_set():
                    break
                wait = pause(0 if greeted else attempt, self.chance(), self.first_pause)
                attempt = 1 if greeted else attempt + 1
                self.log(f"the connection to the hub is lost ({why}); again in {wait:.1f} s")
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.stopped.wait(), wait)
        except Stopped as error:
            self.stopped.set()
            self._fail(error)
            raise
        self._fail(Stopped("the agent was stopped"))

    def stop(self) -> None:
        self.stopped.set()

    async def request(self, kind: str, data: Data) -> Data:
        """Asks until the hub answers: after a lost connection, and after a pause where it says that it is too much now."""
        name = str(uuid.uuid4())
        text = envelope(name, kind, data)
        if self.stopped.is_set():
            raise Stopped("the agent was stopped")
        if len(text.encode()) > MAX_FRAME_BYTES:
            raise Refused(f"`{kind}` is too large for the hub (max {MAX_FRAME_BYTES} bytes)", "TOO_LARGE")
        request = Request(text, asyncio.get_running_loop().create_future())
        self._requests[name] = request
        try:
            await self._put(request)
            return await request.answer
        finally:
            self._requests.pop(name, None)

    def tell(self, kind: str, data: Data) -> None:
        """Says what may get lost."""
        self._later(self._write(envelope(str(uuid.uuid4()), kind, data)))

    async def _put(self, request: Request) -> None:
        if self._socket is not None:
            request.sent += 1
            await self._write(request.text)

    async def _write(self, text: str) -> None:
        # A connection that is being lost takes nothing; whoever reads it notices and comes back.
        if self._socket is not None:
            with contextlib.suppress(ConnectionClosed):
                await self._socket.send(text)

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _until_stopped(self, work: Any) -> tuple[bool, str]:
        """Gives a connection up when the agent is to stop."""
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                return False, "stopped"
            result: tuple[bool, str] = task.result()
            return result
        finally:
            stop.cancel()
            task.cancel()
            await asyncio.gather(task, stop, return_exceptions=True)

    async def _connection(self) -> tuple[bool, str]:
        """One connection from its beginning to its end: whether it got as far as the greeting, and why it ended."""
        greeted = False
        try:
            async with connect(
                self.url,
                max_size=MAX_HEARD_BYTES,
                compression=None,
                open_timeout=ANSWER_TIMEOUT,
                ping_interval=ANSWER_TIMEOUT,
                ping_timeout=ANSWER_TIMEOUT,
                close_timeout=1.0,
            ) as socket:
                why = await asyncio.wait_for(self._log_in(socket), ANSWER_TIMEOUT * 2)
                if why:
                    return False, why
                greeted = True
                await self._greeted(socket)
                async for text in socket:
                    self._receive(text)
                return True, socket.close_reason or "closed"
        except ConnectionClosed as error:
            return greeted, (error.rcvd.reason if error.rcvd else "") or "closed"
        except (OSError, InvalidHandshake, asyncio.TimeoutError) as error:
            return greeted, str(error) or "the hub does not answer"
        finally:
            self._socket = None

    async def _log_in(self, socket: ClientConnection) -> str:
        """Logs in and says hello. Why not, where it may work another time."""
        await socket.send(envelope("login", "auth.login", {"token": self.key, "frames": "plain"}))
        async for text in socket:
            frame = parsed(text)
            if frame is None:
                continue
            if frame.type == "auth.success":
                await socket.send(envelope("hello", "agent.hello", self.hello))
            elif frame.type == "auth.fail":
                if is_for_good(frame):
                    raise given_up(frame.sentence)
                return frame.sentence
            elif frame.reply_to == "hello":
                if frame.type != "error":
                    return ""
                if not is_temporary(frame.code):
                    raise given_up(frame.sentence)
                return frame.sentence
        return "closed"

    async def _greeted(self, socket: ClientConnection) -> None:
        self._socket = socket
        for request in list(self._requests.values()):
            await self._put(request)
        self.on_ready()

    def _receive(self, text: str | bytes) -> None:
        frame = parsed(text)
        if frame is None:
            return
        request = self._requests.get(frame.reply_to or "")
        if request is None:
            self.on_frame(frame)
        elif frame.type == "error" and is_temporary(frame.code):
            self._later(self._again(request, frame.sentence))
        elif request.answer.done():
            return
        elif frame.type == "error":
            request.answer.set_exception(Refused(frame.sentence, frame.code, request.sent > 1))
        else:
            request.answer.set_result(frame.data)

    async def _again(self, request: Request, why: str) -> None:
        """The hub has too much to do: nothing was changed, so it is asked once more."""
        self.log(f"{why} (the agent waits and asks again)")
        request.sent -= 1
        asked = asked_pause(why)
        await asyncio.sleep(pause(0, self.chance(), self.first_pause) if asked is None else spread(asked, self.chance()))
        await self._put(request)

    def _fail(self, error: Stopped) -> None:
        for request in self._requests.values():
            if not request.answer.done():
                request.answer.set_exception(error)


def envelope(name: str, kind: str, data: Data) -> str:
    return json.dumps({"v": 1, "id": name, "type": kind, "ts": int(time.time() * 1000), "data": data})


def parsed(text: str | bytes) -> Frame | None:
    try:
        frame = json.loads(text)
    except ValueError:
        return None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        return None
    data = frame.get("data")
    return Frame(frame["type"], data if isinstance(data, dict) else {}, frame.get("reply_to"))


def is_for_good(frame: Frame) -> bool:
    """A log-in that came too late, or one of too many, is no refusal of the key."""
    return frame.sentence not in ("auth timeout", "auth error") and asked_pause(frame.sentence) is None


def given_up(why: str) -> Stopped:
    hint = 'it was replaced, or the agent or its workspace was deleted; make a key under "Agents"'
    return Stopped(f"the hub refuses the key: {why}\nhint: {hint}")
