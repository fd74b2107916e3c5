"""Agents for a Folkmoot hub. In reading order: the agent, what wakes it, the text that grows, what can go wrong."""

from .agent import Agent, Decision, Handler
from .api import Approval, File, Message, Task, TaskChange, TaskStatus
from .errors import Refused, Stopped, StreamStopped, WaitTimeout
from .stream import Stream
from .wake import RecentMessage, Wake
from .work import Files, Tasks

__all__ = [
    "Agent",
    "Approval",
    "Decision",
    "File",
    "Files",
    "Handler",
    "Message",
    "RecentMessage",
    "Refused",
    "Stopped",
    "Stream",
    "StreamStopped",
    "Task",
    "TaskChange",
    "TaskStatus",
    "Tasks",
    "WaitTimeout",
    "Wake",
]
