"""What the tests of the kit share: a real hub, a cable that can be pulled out, an agent of the kit in a channel."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx

from folkmoot_agent import Agent, Stopped, Wake

ROOT = Path(__file__).resolve().parents[3]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
BINARY = Path(os.environ.get("MOOT_BINARY", TARGET / "debug" / "moot"))
WAIT_TIMEOUT = 60.0
T = TypeVar("T")


async def until(check: Callable[[], Awaitable[T | None]], what: str) -> T:
    """Looks again and again until there is something true to see."""
    give_up = time.monotonic() + WAIT_TIMEOUT
    while True:
        value = await check()
        if value:
            return value
        if time.monotonic() > give_up:
            raise AssertionError(f"never came: {what}")
        await asyncio.sleep(0.03)


class Hub:
    """The built binary on a free port with a folder of its own, and its owner with #general."""

    @classmethod
    async def start(cls, **env: str) -> Hub:
        hub = cls()
        hub.home = Path(tempfile.mkdtemp(prefix="folkmoot-kit-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            hub.port = free.getsockname()[1]
        hub.env = env
        await hub.run()
        account = {"name": "ann", "email": "ann@example.org", "password": "correct horse"}
        hub.owner = (await hub.http.post("/v1/auth/register", json=account)).raise_for_status().json()
        hub.http.headers["authorization"] = f"Bearer {hub.owner['token']}"
        hub.ws = f"/v1/workspaces/{hub.owner['workspace_id']}"
        hub.general = (await hub.call("POST", f"{hub.ws}/channels", {"name": "general"}))["id"]
        return hub

    home: Path
    port: int
    env: dict[str, str]
    http: httpx.AsyncClient
    owner: dict[str, Any]
    ws: str
    general: str
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def run(self) -> None:
        folders = {"HOME": self.home, "XDG_CONFIG_HOME": self.home / "config", "XDG_DATA_HOME": self.home / "share"}
        # No test meets a deadline of the hub because the machine is busy.
        patience = {"MOOT_SERVER__HEADER_TIMEOUT_S": "600", "MOOT_SERVER__WRITE_TIMEOUT_S": "600"}
        env = {"PATH": os.environ["PATH"], "MOOT_SMARTHOLE__ENABLED": "false", **patience, **self.env}
        env.update({name: str(folder) for name, folder in folders.items()})
        command = [str(BINARY), "serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", str(self.home / "data")]
        log = (self.home / "log").open("ab")
        self.process = subprocess.Popen(command, env=env, cwd=self.home, stdout=log, stderr=log)
        log.close()
        if not hasattr(self, "http"):
            self.http = httpx.AsyncClient(base_url=self.url, timeout=WAIT_TIMEOUT)
        await until(self._is_ready, "the hub is ready")

    async def _is_ready(self) -> bool:
        if self.process.poll() is not None:
            raise AssertionError(f"the hub ended:\n{(self.home / 'log').read_text()}")
        try:
            return (await self.http.get("/readyz")).is_success
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """The power cut."""
        self.process.kill()
        self.process.wait()

    async def end(self) -> None:
        await self.http.aclose()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    async def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        answer = await self.http.request(method, path, json=body)
        assert answer.is_success, f"{method} {path} → {answer.status_code}: {answer.text}"
        return answer.json()

    async def say(self, content: str, thread: str | None = None) -> Any:
        body = {"content": content, **({"thread_id": thread} if thread else {})}
        return await self.call("POST", f"/v1/channels/{self.general}/messages", body)

    async def said(self, by: str) -> list[Any]:
        """All that somebody said in #general, the oldest first."""
        page = await self.call("GET", f"/v1/channels/{self.general}/messages?limit=200&replies=true")
        return [message for message in reversed(page) if message["sender_id"] == by]

    async def settled(self, message: Any) -> Any:
        """The wake about a message, once it is over."""

        async def over() -> Any:
            path = f"/v1/channels/{self.general}/deliveries?message_id={message['id']}"
            states = ("answered", "passed", "failed", "cancelled")
            return next((one for one in await self.call("GET", path) if one["state"] in states), None)

        return await until(over, f"the end of the wake by {message['content']!r}")

    async def member(self, name: str) -> Any:
        """An agent's key, and the agent in #general."""
        made = await self.call("POST", f"{self.ws}/members", {"name": name, "type": "agent"})
        await self.call("POST", f"{self.ws}/channels/{self.general}/members", {"member_id": made["id"]})
        return made


class Connected:
    """An agent of the kit that is connected."""

    def __init__(self, hub: Hub, made: Any, url: str | None) -> None:
        self.hub, self.id = hub, str(made["id"])
        self.lines: list[str] = []
        self.agent = Agent(url or hub.url, made["api_key"], log=self.lines.append, first_pause=0.02)
        self.woken = 0

    @classmethod
    async def start(
        cls, hub: Hub, name: str, handler: Callable[[Connected, Wake], Awaitable[object]], url: str | None = None
    ) -> Connected:
        one = cls(hub, await hub.member(name), url)

        @one.agent.on_mention
        async def handle(wake: Wake) -> None:
            one.woken += 1
            await handler(one, wake)

        one.over = asyncio.create_task(one.agent.run())

        async def is_here() -> bool:
            return bool((await hub.call("GET", f"{hub.ws}/members/{one.id}"))["online"])

        await until(is_here, f"{name} is here")
        return one

    over: asyncio.Task[None]

    async def end(self) -> None:
        self.agent.stop()
        await self.over

    async def why(self) -> Stopped:
        """Why it ended by itself."""
        try:
            await self.over
        except Stopped as error:
            return error
        raise AssertionError("it ended without a word")


class Cable:
    """A cable to the hub that can be pulled out: nothing passes then, and nobody is told."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.cut = False
        self.ends: set[asyncio.StreamWriter] = set()

    @classmethod
    async def to(cls, hub: Hub) -> Cable:
        cable = cls(hub)
        cable.server = await asyncio.start_server(cable._join, "127.0.0.1", 0)
        return cable

    server: asyncio.Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def _join(self, near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        far_in, far_out = await asyncio.open_connection("127.0.0.1", self.hub.port)
        self.ends |= {near_out, far_out}
        await asyncio.gather(self._carry(near_in, far_out), self._carry(far_in, near_out), return_exceptions=True)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            if not self.cut:
                sink.write(data)
        if not self.cut:
            sink.close()

    def pull(self) -> None:
        self.cut = True

    def plug(self) -> None:
        """What was connected before is gone; what comes now passes."""
        self.cut = False
        for end in self.ends:
            end.transport.abort()
        self.ends.clear()

    def end(self) -> None:
        self.plug()
        self.server.close()
