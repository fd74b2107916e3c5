"""What an agent of the kit does for a wake, against the real hub."""

from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any

from folkmoot_agent import Refused, StreamStopped, WaitTimeout, Wake

from .support import Connected, Hub, until


class AgentTest(unittest.IsolatedAsyncioTestCase):
    hub: Hub

    async def asyncSetUp(self) -> None:
        self.hub = await Hub.start()

    async def asyncTearDown(self) -> None:
        await self.hub.end()

    async def test_a_mention_reaches_the_handler_with_its_context_and_the_reply_settles_the_wake(self) -> None:
        seen: list[Wake] = []

        async def echo(me: Connected, wake: Wake) -> None:
            seen.append(wake)
            await me.agent.reply(wake, f"You said: {wake.text}")

        await self.hub.say("something before")
        agent = await Connected.start(self.hub, "echo", echo)
        over = await self.hub.settled(await self.hub.say("@echo hello"))
        (wake,) = seen
        assert wake.channel
        self.assertEqual((wake.reason, wake.sender, wake.channel.id), ("mention", "ann", self.hub.general))
        self.assertEqual(wake.messages[-2].content, "something before")
        said = [(one["id"], one["content"]) for one in await self.hub.said(agent.id)]
        self.assertEqual((over["state"], said), ("answered", [(over["reply_id"], "You said: @echo hello")]))
        await agent.end()

    async def test_what_was_asked_in_a_thread_is_answered_in_it_and_a_second_reply_goes_there_too(self) -> None:
        async def twice(me: Connected, wake: Wake) -> None:
            await me.agent.reply(wake, "one")
            await me.agent.reply(wake, "two")

        agent = await Connected.start(self.hub, "thready", twice)
        root = await self.hub.say("a root")
        await self.hub.settled(await self.hub.say("@thready here", root["id"]))
        replies = await self.said(agent, 2)
        self.assertEqual([(it["content"], it["thread_id"]) for it in replies], [("one", root["id"]), ("two", root["id"])])
        await agent.end()

    async def said(self, agent: Connected, count: int) -> list[Any]:
        async def all_of_it() -> list[Any] | None:
            said = await self.hub.said(agent.id)
            return said if len(said) >= count else None

        return await until(all_of_it, f"{count} messages")

    async def test_a_handler_that_says_nothing_passes_the_wake_and_only_when_it_is_done(self) -> None:
        started, go = asyncio.Event(), asyncio.Event()

        async def quiet(_: Connected, __: Wake) -> None:
            started.set()
            await go.wait()

        agent = await Connected.start(self.hub, "quiet", quiet)
        asked = await self.hub.say("@quiet shh")
        await started.wait()
        (open_,) = await self.hub.call("GET", f"/v1/channels/{self.hub.general}/deliveries?message_id={asked['id']}")
        self.assertIn(open_["state"], ("leased", "admitted"))
        go.set()
        self.assertEqual((await self.hub.settled(asked))["state"], "passed")
        await agent.end()

    async def test_a_handler_that_raises_fails_the_wake_visibly_with_its_words(self) -> None:
        async def broken(_: Connected, __: Wake) -> None:
            raise ValueError("the database is closed")

        agent = await Connected.start(self.hub, "broken", broken)
        over = await self.hub.settled(await self.hub.say("@broken go"))
        self.assertEqual((over["state"], over["why"]), ("failed", "the database is closed"))
        notices = await self.hub.call("GET", "/v1/notifications?limit=50")
        self.assertIn("the database is closed", [one["body"] for one in notices if one["type"] == "delivery_failed"][0])
        self.assertTrue(any("the database is closed" in line for line in agent.lines))
        await agent.end()

    async def test_a_handler_that_raises_after_its_reply_says_so_as_well(self) -> None:
        async def late(me: Connected, wake: Wake) -> None:
            await me.agent.reply(wake, "I begin")
            raise ValueError("out of paper")

        agent = await Connected.start(self.hub, "late", late)
        await self.hub.say("@late print")
        said = [it["content"] for it in await self.said(agent, 2)]
        self.assertEqual(said, ["I begin", "I could not go on: out of paper"])
        await agent.end()

    async def test_two_mentions_at_once_are_worked_on_at_once_each_answered_for_itself(self) -> None:
        both = asyncio.Event()

        async def busy(me: Connected, wake: Wake) -> None:
            if me.woken == 2:
                both.set()
            await both.wait()
            await me.agent.reply(wake, f"re: {wake.text}")

        agent = await Connected.start(self.hub, "busy", busy)
        roots = await asyncio.gather(self.hub.say("root a"), self.hub.say("root b"))
        asked = await asyncio.gather(*(self.hub.say(f"@busy {root['content']}", root["id"]) for root in roots))
        for question in asked:
            over = await self.hub.settled(question)
            (reply,) = [it for it in await self.hub.said(agent.id) if it["id"] == over["reply_id"]]
            wanted = (f"re: {question['content']}", question["thread_id"])
            self.assertEqual((reply["content"], reply["thread_id"]), wanted)
        self.assertEqual(len(await self.hub.said(agent.id)), 2)
        await agent.end()

    async def test_a_stream_grows_where_people_see_it_and_becomes_the_answer(self) -> None:
        more = asyncio.Event()

        async def writer(me: Connected, wake: Wake) -> None:
            stream = await me.agent.stream(wake)
            stream.write("Once ")
            await more.wait()
            stream.write("upon a time")
            await stream.end()

        agent = await Connected.start(self.hub, "writer", writer)
        asked = await self.hub.say("@writer tell")
        await self.run_of("writer")
        more.set()
        self.assertEqual((await self.hub.settled(asked))["state"], "answered")
        self.assertEqual([it["content"] for it in await self.hub.said(agent.id)], ["Once upon a time"])
        await agent.end()

    async def run_of(self, name: str) -> Any:
        async def run() -> Any:
            runs = await self.hub.call("GET", f"/v1/channels/{self.hub.general}/runs")
            return next((run for run in runs if run["agent_name"] == name), None)

        return await until(run, f"a run of {name}")

    async def test_people_stop_a_stream_writing_fails_and_the_run_is_cancelled(self) -> None:
        async def endless(me: Connected, wake: Wake) -> None:
            stream = await me.agent.stream(wake)

            async def more() -> None:
                stream.write(".")

            with self.assertRaises(StreamStopped):
                await until(more, "the stop")
            raise StreamStopped

        agent = await Connected.start(self.hub, "endless", endless)
        asked = await self.hub.say("@endless go on")
        await self.hub.call("POST", f"/v1/runs/{(await self.run_of('endless'))['id']}/stop")
        self.assertEqual((await self.hub.settled(asked))["state"], "cancelled")
        await agent.end()

    async def test_a_handler_that_raises_in_the_middle_of_a_stream_leaves_a_failed_run(self) -> None:
        async def torn(me: Connected, wake: Wake) -> None:
            (await me.agent.stream(wake)).write("half of it")
            raise ValueError("no more ink")

        agent = await Connected.start(self.hub, "torn", torn)
        over = await self.hub.settled(await self.hub.say("@torn write"))
        self.assertEqual((over["state"], over["why"]), ("failed", "no more ink"))
        await agent.end()

    async def test_ask_waits_for_what_people_decide_and_hears_the_note(self) -> None:
        async def asker(me: Connected, wake: Wake) -> None:
            decision = await me.agent.ask(wake, "deploy", {"service": "api"})
            await me.agent.reply(wake, f"{decision.approved}: {decision.note}")

        agent = await Connected.start(self.hub, "asker", asker)
        for approved, note in ((True, "go"), (False, "not today")):
            asked = await self.hub.say(f"@asker deploy, {note}")
            question = await until(self.question, "a question")
            shown = (question["action"], json.loads(question["payload"]), question["asker_id"])
            self.assertEqual(shown, ("deploy", {"service": "api"}, self.hub.owner["member_id"]))
            path = f"/v1/approvals/{question['id']}"
            await self.hub.call("PATCH", path, {"approved": approved, "note": note})
            await self.hub.settled(asked)
            self.assertEqual((await self.hub.said(agent.id))[-1]["content"], f"{approved}: {note}")
            self.assertTrue((await self.hub.call("GET", path))["used_at"])
        await agent.end()

    async def question(self) -> Any:
        return next(iter(await self.hub.call("GET", f"{self.hub.ws}/approvals?status=pending")), None)

    async def test_wait_gets_what_is_said_next_once_no_second_wake_for_it(self) -> None:
        async def guide(me: Connected, wake: Wake) -> None:
            await me.agent.reply(wake, "Which branch?")
            answer = await me.agent.wait(wake)
            await me.agent.reply(answer, f"Building {answer['content']}")

        agent = await Connected.start(self.hub, "guide", guide)
        await self.hub.say("@guide build")
        (question,) = await self.said(agent, 1)
        await self.hub.say("main", question["id"])
        built = (await self.said(agent, 2))[1]
        self.assertEqual((built["content"], built["thread_id"]), ("Building main", question["id"]))

        async def nothing_is_open() -> bool:
            wakes = await self.hub.call("GET", f"/v1/channels/{self.hub.general}/deliveries?limit=50")
            return all(one["state"] not in ("queued", "leased", "admitted") for one in wakes)

        await until(nothing_is_open, "nothing is open")
        self.assertEqual(agent.woken, 1)
        await agent.end()

    async def test_wait_gives_up_after_its_time(self) -> None:
        gave_up = asyncio.Event()

        async def lonely(me: Connected, wake: Wake) -> None:
            with self.assertRaises(WaitTimeout):
                await me.agent.wait(wake, timeout=0.02)
            gave_up.set()

        agent = await Connected.start(self.hub, "lonely", lonely)
        await self.hub.say("@lonely")
        await asyncio.wait_for(gave_up.wait(), 60)
        await agent.end()

    async def test_tasks_are_claimed_by_one_changed_and_done_an_assigned_one_wakes(self) -> None:
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def work(me: Connected, wake: Wake) -> None:
            assert wake.task
            await me.agent.tasks.update(wake.task["id"], {"status": "in_progress"})
            done.set_result(await me.agent.tasks.done(wake.task["id"]))

        async def nothing(_: Connected, __: Wake) -> None:
            pass

        worker = await Connected.start(self.hub, "worker", work)
        rival = await Connected.start(self.hub, "rival", nothing)
        free = await self.hub.call("POST", f"{self.hub.ws}/tasks", {"title": "free", "channel_id": self.hub.general})
        self.assertEqual((await worker.agent.tasks.claim(free["id"]))["assigned_to"], worker.id)
        with self.assertRaises(Refused) as refused:
            await rival.agent.tasks.claim(free["id"])
        self.assertEqual(refused.exception.code, "CONFLICT")
        self.assertEqual([task["title"] for task in await worker.agent.tasks.list("in_progress")], ["free"])
        given = {"title": "given", "channel_id": self.hub.general, "assigned_to": worker.id}
        await self.hub.call("POST", f"{self.hub.ws}/tasks", given)
        task = await asyncio.wait_for(done, 60)
        self.assertEqual((task["title"], task["status"]), ("given", "done"))
        await worker.end()
        await rival.end()

    async def test_files_are_uploaded_posted_and_downloaded(self) -> None:
        async def clerk(me: Connected, wake: Wake) -> None:
            file = await me.agent.files.upload("notes.txt", b"remember the milk")
            await me.agent.reply(wake, "here", file=file["id"])

        agent = await Connected.start(self.hub, "clerk", clerk)
        await self.hub.settled(await self.hub.say("@clerk the notes"))
        (posted,) = await self.hub.said(agent.id)
        self.assertEqual(await agent.agent.files.download(posted["file_id"]), b"remember the milk")
        await agent.end()

    async def test_a_text_that_is_too_large_is_refused_here_and_the_connection_stays(self) -> None:
        async def large(me: Connected, wake: Wake) -> None:
            with self.assertRaises(Refused) as refused:
                await me.agent.reply(wake, "x" * 70_000)
            self.assertEqual(refused.exception.code, "TOO_LARGE")
            with self.assertRaisesRegex(Refused, "too long"):
                await me.agent.reply(wake, "x" * 10_001)
            await me.agent.reply(wake, "short then")

        agent = await Connected.start(self.hub, "large", large)
        over = await self.hub.settled(await self.hub.say("@large"))
        self.assertEqual((over["state"], agent.lines), ("answered", []))
        await agent.end()
