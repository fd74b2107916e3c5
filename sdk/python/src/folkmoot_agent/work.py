"""Tasks and files of the workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from .api import File, Member, Task, TaskChange, TaskStatus
from .rest import Rest

#: Who the agent is, asked for once.
Me = Callable[[], Awaitable[Member]]


@dataclass
class Tasks:
    rest: Rest
    me: Me

    async def list(self, status: TaskStatus | None = None, everybodys: bool = False) -> list[Task]:
        """The agent's own tasks, the newest first; with `everybodys` all that it may see."""
        me = await self.me()
        query = {**({"status": status} if status else {}), **({} if everybodys else {"assigned_to": me["id"]})}
        tasks = await self.rest.json("GET", f"/v1/workspaces/{me['workspace_id']}/tasks", params=query)
        return cast("list[Task]", tasks)

    async def claim(self, task_id: str) -> Task:
        """Takes a task that nobody has; of many who try, one gets it and the others are refused with `CONFLICT`."""
        return cast(Task, await self.rest.json("POST", f"/v1/tasks/{task_id}/claim"))

    async def update(self, task_id: str, change: TaskChange) -> Task:
        """Changes what is given."""
        return cast(Task, await self.rest.json("PATCH", f"/v1/tasks/{task_id}", json=change))

    async def done(self, task_id: str) -> Task:
        return await self.update(task_id, {"status": "done"})


@dataclass
class Files:
    rest: Rest
    me: Me

    async def upload(self, name: str, data: bytes, channel: str | None = None) -> File:
        """Uploads a file of at most 32 MB; post it with `reply(…, file=…)`. With `channel` its readers may read it at once.

        When the connection breaks on the way it fails: the hub may have it, and a second try would store it twice.
        """
        path = f"/v1/workspaces/{(await self.me())['workspace_id']}/files"
        form = {"channel_id": channel} if channel else None
        return cast(File, await self.rest.json("POST", path, files={"file": (name, data)}, data=form, once=False))

    async def download(self, file_id: str) -> bytes:
        return (await self.rest.call("GET", f"/v1/files/{file_id}/download")).content
