"""A wake: who wants the agent, what for, and what was said before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .api import Task, WakeReason


@dataclass(frozen=True)
class RecentMessage:
    """A message as it is bundled with a wake."""

    id: str
    sender_id: str
    sender_name: str
    content: str
    created_at: int
    seq: int
    thread_id: str | None = None


@dataclass(frozen=True)
class Channel:
    id: str
    name: str | None = None
    type: str | None = None


@dataclass(frozen=True, eq=False)
class Wake:
    #: `mention`, `dm`, `thread_reply`, `task_assigned` or `manual`.
    reason: WakeReason
    #: Names this wake, also when it is sent again; empty where somebody only knocked.
    id: str
    #: Absent where a task belongs to no channel.
    channel: Channel | None
    #: The thread it was said in; none in the channel itself.
    thread_id: str | None
    #: Up to twenty messages, the oldest first.
    messages: tuple[RecentMessage, ...]
    #: Those of them that are meant for the agent.
    message_ids: tuple[str, ...]
    sender_id: str
    #: The task that was given to the agent.
    task: Task | None

    @property
    def meant(self) -> tuple[RecentMessage, ...]:
        """The messages that woke the agent."""
        return tuple(message for message in self.messages if message.id in self.message_ids)

    @property
    def text(self) -> str:
        """What was said to the agent, or the title of the task."""
        return "\n".join(message.content for message in self.meant) or (self.task["title"] if self.task else "")

    @property
    def sender(self) -> str:
        """Who said it, by name."""
        named = (message.sender_name for message in reversed(self.messages) if message.sender_id == self.sender_id)
        return next(named, "")


def read_wake(data: Mapping[str, Any]) -> Wake:
    """`agent.wake` as it travels."""
    context = data.get("context") or {}
    delivery = context.get("delivery") or {}
    return Wake(
        reason=data.get("reason", "mention"),
        id=delivery.get("id", ""),
        channel=read_channel(context.get("channel")),
        thread_id=delivery.get("thread_id"),
        messages=tuple(read_message(message) for message in context.get("recent_messages") or []),
        message_ids=tuple(delivery.get("message_ids") or []),
        sender_id=delivery.get("sender_id", ""),
        task=context.get("task"),
    )


def read_channel(channel: Mapping[str, Any] | None) -> Channel | None:
    return Channel(channel["id"], channel.get("name"), channel.get("type")) if channel else None


def read_message(message: Mapping[str, Any]) -> RecentMessage:
    return RecentMessage(
        id=message["id"],
        sender_id=message.get("sender_id", ""),
        sender_name=message.get("sender_name", ""),
        content=message.get("content", ""),
        created_at=message.get("created_at", 0),
        seq=message.get("seq", 0),
        thread_id=message.get("thread_id"),
    )
