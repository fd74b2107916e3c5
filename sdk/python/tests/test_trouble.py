"""What the kit does when something is away: the hub, a socket, patience, a key."""

from __future__ import annotations

import asyncio
import unittest
import unittest.mock
from typing import Any

from folkmoot_agent import Agent, Stopped, Wake
from folkmoot_agent.backoff import asked_pause, pause
from folkmoot_agent.link import Link

from .support import Cable, Connected, Hub, until


async def nothing(_: Connected, __: Wake) -> None:
    pass


class BackoffTest(unittest.TestCase):
    def test_pauses_double_up_to_half_a_minute_and_chance_moves_them_by_a_quarter(self) -> None:
        self.assertEqual([pause(attempt, 0.5) for attempt in (0, 1, 2, 5, 99)], [1, 2, 4, 30, 30])
        self.assertEqual((pause(0, 0.0), pause(0, 1.0)), (0.75, 1.25))

    def test_how_long_the_hub_asks_to_wait_is_in_its_sentence(self) -> None:
        self.assertEqual(asked_pause("too many messages; retry in 3 s"), 3.0)
        self.assertIsNone(asked_pause("the disk is full"))


class TroubleTest(unittest.IsolatedAsyncioTestCase):
    async def hub(self, **env: str) -> Hub:
        hub = await Hub.start(**env)
        self.addAsyncCleanup(hub.end)
        return hub

    async def test_the_hub_is_killed_and_started_again_in_the_middle_the_wake_is_answered_and_once(self) -> None:
        hub = await self.hub()
        started, go = asyncio.Event(), asyncio.Event()

        async def steady(me: Connected, wake: Wake) -> None:
            started.set()
            await go.wait()
            await me.agent.reply(wake, "still here")

        agent = await Connected.start(hub, "steady", steady)
        asked = await hub.say("@steady are you?")
        await started.wait()
        hub.kill()
        go.set()
        await hub.run()
        self.assertEqual((await hub.settled(asked))["state"], "answered")
        self.assertEqual([it["content"] for it in await hub.said(agent.id)], ["still here"])
        self.assertEqual(agent.woken, 1)
        await agent.end()

    async def test_an_answer_and_a_decision_that_fall_into_the_time_without_a_connection_are_not_missed(self) -> None:
        hub = await self.hub()
        cable = await Cable.to(hub)

        async def patient(me: Connected, wake: Wake) -> None:
            decision = await me.agent.ask(wake, "restart", {})
            answer = await me.agent.wait(wake)
            await me.agent.reply(wake, f"{decision.approved}, {answer['content']}")

        agent = await Connected.start(hub, "patient", patient, cable.url)
        asked = await hub.say("@patient restart it")

        async def question() -> Any:
            return next(iter(await hub.call("GET", f"{hub.ws}/approvals?status=pending")), None)

        open_ = await until(question, "a question")
        cable.pull()
        await hub.call("PATCH", f"/v1/approvals/{open_['id']}", {"approved": True})
        await hub.say("now, please")
        cable.plug()
        await hub.settled(asked)
        self.assertEqual((await hub.said(agent.id))[-1]["content"], "True, now, please")
        await agent.end()
        cable.end()

    async def test_a_socket_cut_before_the_acknowledgement_the_send_is_repeated_and_stored_once(self) -> None:
        hub = await self.hub()
        lost = asyncio.Event()
        acknowledged = 0
        receive = Link._receive

        def losing(link: Link, text: str | bytes) -> None:
            """The first acknowledgement is lost together with its connection."""
            nonlocal acknowledged
            if '"message.ack"' in str(text):
                acknowledged += 1
                if acknowledged == 1:
                    lost.set()
                    if link._socket:
                        link._socket.transport.abort()
                    return
            receive(link, text)

        patch = unittest.mock.patch.object(Link, "_receive", losing)
        patch.start()
        self.addCleanup(patch.stop)

        async def once(me: Connected, wake: Wake) -> None:
            await me.agent.reply(wake, "only once")

        agent = await Connected.start(hub, "cut", once)
        asked = await hub.say("@cut go")
        await asyncio.wait_for(lost.wait(), 60)

        async def repeated() -> bool:
            return acknowledged == 2

        await until(repeated, "the second acknowledgement")
        self.assertEqual((await hub.settled(asked))["state"], "answered")
        self.assertEqual([it["content"] for it in await hub.said(agent.id)], ["only once"])
        await agent.end()

    async def test_what_was_said_while_the_agent_was_away_wakes_it_when_it_is_back(self) -> None:
        hub = await self.hub()
        made = await hub.member("away")
        asked = await hub.say("@away anybody?")
        agent = Agent(hub.url, made["api_key"], log=lambda _: None)

        @agent.on_mention
        async def now(wake: Wake) -> None:
            await agent.reply(wake, "now")

        over = asyncio.create_task(agent.run())
        self.assertEqual((await hub.settled(asked))["state"], "answered")
        agent.stop()
        await over

    async def test_too_many_messages_at_once_the_agent_waits_and_all_arrive_once_and_in_order(self) -> None:
        hub = await self.hub(MOOT_LIMITS__MESSAGES_PER_SECOND="2")
        count = 24

        async def eager(me: Connected, wake: Wake) -> None:
            for at in range(count):
                await me.agent.reply(wake, f"line {at}")

        agent = await Connected.start(hub, "eager", eager)
        await hub.say("@eager everything")

        async def all_of_it() -> list[Any] | None:
            said = await hub.said(agent.id)
            return said if len(said) >= count else None

        said = [it["content"] for it in await until(all_of_it, "all lines")]
        self.assertEqual(said, [f"line {at}" for at in range(count)])
        self.assertTrue(any("retry in" in line for line in agent.lines), agent.lines)
        await agent.end()

    async def test_429_over_http_the_agent_waits_for_retry_after_and_asks_again(self) -> None:
        hub = await self.hub(MOOT_LIMITS__REQUESTS_PER_SECOND="2")
        made = await hub.call("POST", f"{hub.ws}/members", {"name": "hasty", "type": "agent"})
        lines: list[str] = []
        agent = Agent(hub.url, made["api_key"], log=lines.append)
        lists = await asyncio.gather(*(agent.tasks.list() for _ in range(16)))
        self.assertEqual(lists, [[]] * 16)
        self.assertTrue(any(line.startswith("GET /v1/workspaces/") for line in lines), lines)
        agent.stop()
        await agent.run()

    async def test_an_agent_that_is_cancelled_ends_at_once_and_its_wake_stays_open(self) -> None:
        hub = await self.hub()
        waiting = asyncio.Event()

        async def wait(me: Connected, wake: Wake) -> None:
            waiting.set()
            await me.agent.ask(wake, "wait", {})

        agent = await Connected.start(hub, "cancelled", wait)
        asked = await hub.say("@cancelled wait")
        await waiting.wait()
        agent.over.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await asyncio.wait_for(agent.over, 60)
        (wake,) = await hub.call("GET", f"/v1/channels/{hub.general}/deliveries?message_id={asked['id']}")
        self.assertIn(wake["state"], ("leased", "admitted"))

    async def test_a_stream_goes_on_after_the_hub_was_killed_and_started_again(self) -> None:
        hub = await self.hub()
        begun, go = asyncio.Event(), asyncio.Event()

        async def writer(me: Connected, wake: Wake) -> None:
            stream = await me.agent.stream(wake)
            stream.write("before, ")
            begun.set()
            await go.wait()
            stream.write("after")
            await stream.end()

        agent = await Connected.start(hub, "writer", writer)
        asked = await hub.say("@writer go")
        await begun.wait()
        hub.kill()
        go.set()
        await hub.run()
        self.assertEqual((await hub.settled(asked))["state"], "answered")
        self.assertEqual([it["content"] for it in await hub.said(agent.id)], ["before, after"])
        await agent.end()

    async def test_a_key_that_nobody_knows_stops_the_agent_in_words(self) -> None:
        hub = await self.hub()
        lines: list[str] = []
        with self.assertRaisesRegex(Stopped, "the hub refuses the key: .+\nhint: "):
            await Agent(hub.url, "lr_" + "0" * 64, log=lines.append).run()
        self.assertEqual(lines, [])

    async def test_a_key_that_is_replaced_stops_the_agent_that_is_connected_with_the_old_one(self) -> None:
        hub = await self.hub()
        agent = await Connected.start(hub, "old", nothing)
        await hub.call("POST", f"{hub.ws}/members/{agent.id}/key")
        self.assertIn("the hub refuses the key", str(await agent.why()))

    async def test_a_deleted_workspace_stops_its_agents_in_words_and_what_they_wait_for_ends(self) -> None:
        hub = await self.hub()
        asked, ended = asyncio.Event(), asyncio.Event()

        async def last(me: Connected, wake: Wake) -> None:
            asked.set()
            try:
                await me.agent.ask(wake, "wait", {})
            finally:
                ended.set()

        agent = await Connected.start(hub, "last", last)
        await hub.say("@last wait")
        await asked.wait()
        await hub.call("DELETE", hub.ws)
        self.assertIn("workspace was deleted", str(await agent.why()))
        await asyncio.wait_for(ended.wait(), 60)
