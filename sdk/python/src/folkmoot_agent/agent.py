"""An agent: woken by people, it answers, streams, asks and waits. No wake is lost, none is answered twice."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import httpx

from .api import Approval, Member, Message
from .errors import Refused, Stopped, StreamStopped
from .link import Frame, Link
from .rest import Rest
from .stream import Stream
from .waiting import Place, Spoken, Waiting
from .wake import Wake, read_wake
from .work import Files, Tasks

#: Works on a wake. When it fails, whoever asked is told why.
Handler = Callable[[Wake], Awaitable[object]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)

#: Wakes and waited-for messages that are remembered, so that a repeat is known as one.
MAX_REMEMBERED = 10_000
MAX_WHY_CHARS = 500


@dataclass(frozen=True)
class Decision:
    """What people decided."""

    id: str
    approved: bool
    #: What whoever decided wants the agent to know.
    note: str | None


@dataclass
class Job:
    """What is known of a wake that was taken on."""

    wake: Wake
    answered: bool = False
    stream: Stream | None = None
    #: The agent's own messages about it.
    said: set[str] = field(default_factory=set)
    #: The newest position in the channel that the handler knows of.
    seq: int = 0


class Agent:
    """`url` is the hub (`http://127.0.0.1:8484` for instance), `key` the agent's (`lr_…`), `about` what people read of it.

    `runtime` says what it runs on, such as `{"type": "llm", "provider": "anthropic", "model": "…"}`. `log` is told what
    happens to the connection; standard error unless given. `first_pause` is the first pause in seconds before the hub is
    tried again; it doubles up to half a minute.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        about: str = "",
        capabilities: Sequence[str] = (),
        runtime: dict[str, str] | None = None,
        log: Callable[[str], None] | None = None,
        first_pause: float = 1.0,
    ) -> None:
        base = url.rstrip("/")
        base = "http" + base[2:] if base.startswith("ws") else base
        self._log = log or (lambda sentence: print(sentence, file=sys.stderr, flush=True))
        self._runtime = runtime or {"type": "script"}
        hello = {"role_card": {"system_prompt": about, "capabilities": list(capabilities)}, "runtime": self._runtime}
        self._link = Link(
            "ws" + base[4:] + "/ws", key, hello, first_pause, self._log, self._hear, lambda: self._spawn(self._catch_up())
        )
        http = httpx.AsyncClient(base_url=base, headers={"authorization": f"Bearer {key}"}, timeout=60.0)
        self._rest = Rest(http, first_pause, self._link.stopped, self._log)
        self._waiting = Waiting(self._rest, self._link.stopped)
        self.tasks = Tasks(self._rest, self.me)
        self.files = Files(self._rest, self.me)
        self._jobs: dict[str, Job] = {}
        self._taken: dict[str, None] = {}
        self._waited_for: dict[str, None] = {}
        self._questions: dict[str, asyncio.Future[Decision]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._handler: Handler | None = None
        self._me: Member | None = None
        self._asking_me = asyncio.Lock()

    def on_mention(self, handler: AnyHandler) -> AnyHandler:
        """Who works on wakes: mentions, direct messages, replies in the agent's threads, assigned tasks.

        Several may be under way at once. Use it as a decorator.
        """
        self._handler = handler
        return handler

    async def run(self) -> None:
        """Takes part until `stop`. Fails with `Stopped` when the hub refuses the key."""
        try:
            await self._link.run()
        except asyncio.CancelledError:
            # Ctrl-C: nobody waits for handlers then; the hub sends their wakes again.
            self.stop()
            for work in self._running:
                work.cancel()
            raise
        finally:
            for question in self._questions.values():
                if not question.done():
                    question.set_exception(Stopped("the agent was stopped"))
            await asyncio.gather(*self._running, return_exceptions=True)
            await self._rest.http.aclose()

    def stop(self) -> None:
        self._link.stop()

    async def me(self) -> Member:
        """Who the agent is."""
        async with self._asking_me:
            if self._me is None:
                self._me = cast(Member, await self._rest.json("GET", "/v1/members/me"))
        return self._me

    async def reply(self, to: Wake | Message, text: str, *, thread: str | None = None, file: str | None = None) -> str:
        """Answers where it was asked; the first reply settles the wake. Returns the id of the message."""
        if not isinstance(to, Wake):
            return await self.send(to["channel_id"], text, thread=thread or to.get("thread_id"), file=file)
        job = self._jobs.get(to.id)
        settles = job is not None and not job.answered
        if job:
            job.answered = True
        try:
            more = {"delivery_id": to.id} if settles else {}
            message_id, seq = await self._post(channel_of(to), text, thread or to.thread_id, file, more)
        except BaseException:
            if job and settles:
                job.answered = False
            raise
        if job:
            job.said.add(message_id)
            job.seq = max(job.seq, seq)
        return message_id

    async def send(self, channel: str, text: str, *, thread: str | None = None, file: str | None = None) -> str:
        """Says something of the agent's own accord. Returns the id of the message."""
        return (await self._post(channel, text, thread, file, {}))[0]

    async def stream(self, wake: Wake) -> Stream:
        """Begins an answer that grows while people watch, in a thread below the question."""
        job = self._jobs.get(wake.id)
        if job is None:
            raise RuntimeError("only a wake that is being worked on can be streamed to")
        if job.stream is None:
            engine = self._runtime.get("provider") or self._runtime.get("type") or "script"
            model = {"model": self._runtime["model"]} if "model" in self._runtime else {}
            begun = await self._link.request("run.start", {"delivery_id": wake.id, "engine": engine, **model})
            job.stream = Stream(self._link, begun["run"]["id"])
            job.answered = True
            if begun["run"].get("message_id"):
                job.said.add(begun["run"]["message_id"])
        return job.stream

    async def ask(self, wake: Wake, action: str, payload: dict[str, Any] | None = None) -> Decision:
        """Asks people before something is done, and waits for what they decide; nobody in 24 hours is a no.

        The same question of the same wake is one question, also after a restart of the agent.
        """
        data: dict[str, Any] = {"action": action, "payload": payload or {}}
        job = self._jobs.get(wake.id)
        if wake.channel:
            data["channel_id"] = wake.channel.id
        if wake.id:
            data["fingerprint"] = wake.id
        if job and job.stream:
            data["run_id"] = job.stream.run_id
        elif wake.message_ids:
            data["message_id"] = wake.message_ids[0]
        asked = await self._link.request("approval.request", data)
        if asked["status"] != "pending":
            return Decision(asked["id"], asked["status"] == "approved", asked.get("review_note"))
        decision = await self._decided(asked["id"])
        try:
            await self._link.request("approval.use", {"approval_id": decision.id})
        except Refused as error:
            # The first of two identical requests did it.
            if not error.repeated:
                raise
        return decision

    async def wait(self, wake: Wake, *, timeout: float | None = None) -> Message:
        """Waits for what is said next.

        By anybody in the wake's thread, in a direct channel or below the agent's replies, by whoever asked in an open
        channel. What is waited for wakes nobody a second time.
        """
        job = self._jobs.get(wake.id)
        everybody = wake.thread_id is not None or (wake.channel is not None and wake.channel.type == "dm")
        known = max([job.seq if job else 0, *(message.seq for message in wake.messages)])
        own = frozenset(job.said if job else ()) | frozenset(wake.message_ids)
        place = Place(channel_of(wake), wake.thread_id, own, None if everybody else wake.sender_id, known)
        message = await self._waiting.next(place, (await self.me())["id"], timeout)
        if job:
            job.seq = max(job.seq, message["seq"])
        remember(self._waited_for, message["id"])
        return message

    async def _post(
        self, channel: str, text: str, thread: str | None, file: str | None, more: dict[str, Any]
    ) -> tuple[str, int]:
        data: dict[str, Any] = {"channel_id": channel, "content": text, **more}
        if thread:
            data["thread_id"] = thread
        if file:
            data["file_id"] = file
        ack = await self._link.request("message.send", data)
        return str(ack["message_id"]), int(ack.get("seq", 0))

    def _hear(self, frame: Frame) -> None:
        if frame.type == "agent.wake":
            self._take(read_wake(frame.data))
        # What is still being written has no position; what becomes of it does.
        elif frame.type == "message.new" and "seq" in frame.data:
            self._waiting.heard(cast(Message, frame.data), self._my_id)
        elif frame.type == "approval.result":
            self._result(cast(Approval, frame.data))
        elif frame.type == "run.stop":
            for job in self._jobs.values():
                if job.stream and job.stream.run_id == frame.data.get("run_id"):
                    job.stream.stop()

    @property
    def _my_id(self) -> str:
        return self._me["id"] if self._me else ""

    def _take(self, wake: Wake) -> None:
        """Takes a wake on, once."""
        if self._handler is None or wake.id in self._taken:
            return
        if wake.id:
            remember(self._taken, wake.id)
        if self._was_waited_for(wake):
            self._spawn(self._settle("wake.pass", {"delivery_id": wake.id, "why": "it was waited for"}))
        else:
            self._spawn(self._work(wake, self._handler))

    def _was_waited_for(self, wake: Wake) -> bool:
        """Whether a handler has what woke the agent, or is about to get it."""
        channel = wake.channel.id if wake.channel else ""
        meant = [Spoken(channel, message.thread_id, message.sender_id, message.seq) for message in wake.meant]
        if self._waiting.expects(meant, self._my_id):
            self._spawn(self._catch_up())
            return True
        return bool(wake.message_ids) and all(name in self._waited_for for name in wake.message_ids)

    async def _work(self, wake: Wake, handler: Handler) -> None:
        job = Job(wake)
        if wake.id:
            self._jobs[wake.id] = job
        if wake.channel:
            self._link.tell("agent.thinking", {"channel_id": wake.channel.id})
        error: Exception | None = None
        try:
            await handler(wake)
        except Exception as raised:
            error = raised
        try:
            await self._finish(job, error)
        finally:
            self._jobs.pop(wake.id, None)

    async def _finish(self, job: Job, error: Exception | None) -> None:
        """The handler is done: only now the hub hears what became of the wake, unless a reply has said so."""
        if isinstance(error, Stopped):
            return
        why = (str(error) or type(error).__name__)[:MAX_WHY_CHARS] if error else None
        if error and not isinstance(error, StreamStopped):
            self._log(f"the handler failed: {why}")
        try:
            if job.stream:
                await job.stream.settle(why)
            elif job.answered and why and job.wake.channel:
                await self.reply(job.wake, f"I could not go on: {why}")
            elif not job.answered and job.wake.id:
                kind, reason = ("wake.fail", {"why": why}) if why else ("wake.pass", {})
                await self._settle(kind, {"delivery_id": job.wake.id, **reason})
        except (Refused, Stopped) as failure:
            if isinstance(failure, Refused):
                self._log(f"the hub was not told what became of a wake: {failure}")

    async def _settle(self, kind: str, data: dict[str, Any]) -> None:
        """Says how a wake ended. One that is over already needs no saying."""
        with contextlib.suppress(Refused, Stopped):
            await self._link.request(kind, data)

    async def _catch_up(self) -> None:
        """What was decided and said while the connection was lost."""
        try:
            my_id = (await self.me())["id"]
            await asyncio.gather(self._waiting.look_again(my_id), *(self._look(name) for name in list(self._questions)))
        except Stopped:
            return
        except (Refused, httpx.HTTPError) as error:
            self._log(f"what was missed could not be looked up: {error}")

    async def _decided(self, name: str) -> Decision:
        question = self._questions.setdefault(name, asyncio.get_running_loop().create_future())
        try:
            # It may have been decided in this very moment.
            await self._look(name)
            return await question
        finally:
            self._questions.pop(name, None)

    async def _look(self, name: str) -> None:
        self._result(cast(Approval, await self._rest.json("GET", f"/v1/approvals/{name}")))

    def _result(self, approval: Approval) -> None:
        question = self._questions.get(approval["id"])
        if question and not question.done() and approval["status"] != "pending":
            approved = approval["status"] == "approved"
            question.set_result(Decision(approval["id"], approved, approval.get("review_note")))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)


def channel_of(wake: Wake) -> str:
    if wake.channel is None:
        raise RuntimeError("this wake belongs to no channel; say where with `send`")
    return wake.channel.id


def remember(known: dict[str, None], name: str) -> None:
    known[name] = None
    while len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]
