"""Fifty calls to a real hub through a client that was generated from its description; a refusal or a wrong shape ends it."""

import os
from typing import Any, TypeVar

from folkmoot_client import AuthenticatedClient
from folkmoot_client import models as m
from folkmoot_client.api.agent_experience import (
    get_agents_agent_drafts,
    get_agents_agent_inbox,
    get_agents_agent_inbox_count,
    get_agents_agent_workspace,
    get_agents_agent_workspace_search,
    post_agents_agent_drafts,
    post_agents_agent_inbox_item_ack,
    post_drafts_draft_send,
    put_agents_agent_workspace,
)
from folkmoot_client.api.agents import (
    get_agents_agent_memory,
    get_agents_agent_metrics,
    get_workspaces_workspace_agents,
    post_agents_agent_memory,
    post_workspaces_workspace_provision_tokens,
)
from folkmoot_client.api.approvals import (
    get_approvals_approval,
    get_workspaces_workspace_approvals,
    patch_approvals_approval,
    post_workspaces_workspace_approvals,
)
from folkmoot_client.api.auth import get_auth_providers, get_setup, post_auth_login
from folkmoot_client.api.channels import (
    get_workspaces_workspace_channels,
    get_workspaces_workspace_channels_channel,
    get_workspaces_workspace_channels_search,
    patch_workspaces_workspace_channels_channel,
    post_workspaces_workspace_channels,
    post_workspaces_workspace_channels_channel_members,
)
from folkmoot_client.api.direct_messages import get_members_member_unread, post_channels_channel_read
from folkmoot_client.api.files import get_files_file, get_files_file_download, get_workspaces_workspace_files
from folkmoot_client.api.members import (
    get_members_me,
    get_workspaces_workspace_members,
    get_workspaces_workspace_members_member,
)
from folkmoot_client.api.messages import (
    get_channels_channel_messages,
    get_messages_message,
    get_messages_message_edits,
    get_messages_message_thread,
    patch_messages_message,
    post_channels_channel_messages,
)
from folkmoot_client.api.notifications import get_notifications, get_notifications_unread_count
from folkmoot_client.api.operator import get_admin_stats
from folkmoot_client.api.pins import get_channels_channel_pins, post_channels_channel_pins
from folkmoot_client.api.reactions import get_messages_message_reactions, post_messages_message_reactions
from folkmoot_client.api.search import get_search
from folkmoot_client.api.tasks import (
    delete_tasks_task,
    get_tasks_task,
    get_workspaces_workspace_tasks,
    patch_tasks_task,
    post_tasks_task_claim,
    post_workspaces_workspace_tasks,
)
from folkmoot_client.api.workspaces import get_workspaces, get_workspaces_workspace_usage
from folkmoot_client.types import Response

T = TypeVar("T")
calls = 0

URL = os.environ["MOOT_URL"]
WORKSPACE = os.environ["MOOT_WORKSPACE"]
AGENT = os.environ["MOOT_AGENT"]
hub = AuthenticatedClient(base_url=URL, token=os.environ["MOOT_KEY"])
agent_hub = AuthenticatedClient(base_url=URL, token=os.environ["MOOT_AGENT_KEY"])


def done(answer: Response[Any]) -> None:
    global calls
    calls += 1
    assert 200 <= answer.status_code < 300, f"call {calls}: {answer.status_code} {answer.content!r}"


def ok(kind: type[T], answer: Response[Any]) -> T:
    """What a call gave, as the model that is described for it."""
    done(answer)
    assert isinstance(answer.parsed, kind), f"call {calls}: {answer.parsed!r} is no {kind.__name__}"
    return answer.parsed


def people() -> str:
    assert not ok(m.Setup, get_setup.sync_detailed(client=hub)).needs_owner
    done(get_auth_providers.sync_detailed(client=hub))
    body = m.LoginBody(email="ann@example.org", password="correct horse battery")
    session = ok(m.Session, post_auth_login.sync_detailed(client=hub, body=body))
    me = ok(m.MemberView, get_members_me.sync_detailed(client=hub))
    assert me.id == session.member_id
    done(get_workspaces.sync_detailed(client=hub))
    ok(m.UsageObject, get_workspaces_workspace_usage.sync_detailed(WORKSPACE, client=hub))
    done(get_workspaces_workspace_members.sync_detailed(WORKSPACE, client=hub))
    ok(m.MemberView, get_workspaces_workspace_members_member.sync_detailed(WORKSPACE, "me", client=hub))
    done(get_workspaces_workspace_agents.sync_detailed(WORKSPACE, client=hub))
    ok(m.AgentMetrics, get_agents_agent_metrics.sync_detailed(AGENT, client=hub))
    ok(m.ProvisionToken, post_workspaces_workspace_provision_tokens.sync_detailed(WORKSPACE, client=hub))
    ok(m.Figures, get_admin_stats.sync_detailed(client=hub))
    return me.id


def rooms() -> str:
    body = m.NewChannelBody(name="typed")
    channel = ok(m.Channel, post_workspaces_workspace_channels.sync_detailed(WORKSPACE, client=hub, body=body)).id
    done(get_workspaces_workspace_channels.sync_detailed(WORKSPACE, client=hub))
    done(get_workspaces_workspace_channels_search.sync_detailed(WORKSPACE, client=hub, q="typ"))
    ok(m.Channel, get_workspaces_workspace_channels_channel.sync_detailed(WORKSPACE, channel, client=hub))
    change = m.ChannelChange(topic="types")
    patch_channel = patch_workspaces_workspace_channels_channel.sync_detailed
    assert ok(m.Channel, patch_channel(WORKSPACE, channel, client=hub, body=change)).topic == "types"
    admit = post_workspaces_workspace_channels_channel_members.sync_detailed
    assert ok(m.Channel, admit(WORKSPACE, channel, client=hub, body=m.AdmitBody(member_id=AGENT))).member_count == 2
    return channel


def messages(channel: str) -> None:
    said = m.MessageBody(content="hello @codebot")
    message = ok(m.Message, post_channels_channel_messages.sync_detailed(channel, client=hub, body=said)).id
    newest = ok(list, get_channels_channel_messages.sync_detailed(channel, client=hub, limit=1))
    assert [one.id for one in newest] == [message]
    ok(m.Message, get_messages_message.sync_detailed(message, client=hub))
    edit = m.EditBody(content="hello again @codebot")
    assert ok(m.Message, patch_messages_message.sync_detailed(message, client=hub, body=edit)).edit_count == 1
    ok(list, get_messages_message_edits.sync_detailed(message, client=hub))
    ok(list, get_messages_message_thread.sync_detailed(message, client=hub))
    ok(m.Reaction, post_messages_message_reactions.sync_detailed(message, client=hub, body=m.ReactionBody(emoji="👍")))
    ok(list, get_messages_message_reactions.sync_detailed(message, client=hub))
    ok(m.Pin, post_channels_channel_pins.sync_detailed(channel, client=hub, body=m.PinBody(message_id=message)))
    ok(list, get_channels_channel_pins.sync_detailed(channel, client=hub))
    ok(list, get_search.sync_detailed(client=hub, q="hello"))
    ok(m.ReadState, post_channels_channel_read.sync_detailed(channel, client=hub, body=m.ReadBody()))
    ok(m.Unread, get_members_member_unread.sync_detailed("me", client=hub))


def tasks(me: str) -> None:
    body = m.NewTaskBody(title="Type it", priority=m.Priority.HIGH)
    task = ok(m.Task, post_workspaces_workspace_tasks.sync_detailed(WORKSPACE, client=hub, body=body)).id
    ok(list, get_workspaces_workspace_tasks.sync_detailed(WORKSPACE, client=hub, status=m.TaskStatus.TODO))
    assert ok(m.Task, post_tasks_task_claim.sync_detailed(task, client=hub)).assigned_to == me
    change = m.TaskChange(status=m.TaskStatus.DONE, assigned_to=None)
    assert ok(m.Task, patch_tasks_task.sync_detailed(task, client=hub, body=change)).assigned_to is None
    ok(m.Done, delete_tasks_task.sync_detailed(task, client=hub))
    gone = get_tasks_task.sync_detailed(task, client=hub)
    assert isinstance(gone.parsed, m.Error) and gone.parsed.code == "NOT_FOUND"


def files() -> None:
    file = os.environ["MOOT_FILE"]
    ok(m.File, get_files_file.sync_detailed(file, client=hub))
    ok(list, get_workspaces_workspace_files.sync_detailed(WORKSPACE, client=hub))
    assert get_files_file_download.sync_detailed(file, client=hub).content == b"hello"


def agents(channel: str) -> None:
    inbox = ok(list, get_agents_agent_inbox.sync_detailed(AGENT, client=agent_hub))
    ok(m.Count, get_agents_agent_inbox_count.sync_detailed(AGENT, client=agent_hub))
    ok(m.Acked, post_agents_agent_inbox_item_ack.sync_detailed(AGENT, inbox[0].id, client=agent_hub))
    memory = m.MemoryBody(key="standup", value="Tuesday")
    ok(m.Memory, post_agents_agent_memory.sync_detailed(AGENT, client=agent_hub, body=memory))
    ok(list, get_agents_agent_memory.sync_detailed(AGENT, client=agent_hub))
    item = m.ItemBody(name="notes.md", content="owls hunt at night", tags=["zoo"])
    ok(m.Item, put_agents_agent_workspace.sync_detailed(AGENT, client=agent_hub, body=item))
    ok(list, get_agents_agent_workspace.sync_detailed(AGENT, client=agent_hub))
    ok(list, get_agents_agent_workspace_search.sync_detailed(AGENT, client=agent_hub, q="owls"))
    draft_body = m.DraftBody(channel_id=channel, content="hi")
    draft = ok(m.Draft, post_agents_agent_drafts.sync_detailed(AGENT, client=agent_hub, body=draft_body)).id
    ok(m.DraftSent, post_drafts_draft_send.sync_detailed(draft, client=agent_hub, body=m.SendDraftBody()))
    ok(list, get_agents_agent_drafts.sync_detailed(AGENT, client=agent_hub))
    question = m.ApprovalBody(action="deploy", channel_id=channel)
    ask = post_workspaces_workspace_approvals.sync_detailed
    approval = ok(m.ApprovalView, ask(WORKSPACE, client=agent_hub, body=question)).id
    ok(list, get_workspaces_workspace_approvals.sync_detailed(WORKSPACE, client=hub))
    ok(m.ApprovalView, get_approvals_approval.sync_detailed(approval, client=hub))
    decision = m.Decision(approved=True)
    decided = ok(m.ApprovalView, patch_approvals_approval.sync_detailed(approval, client=hub, body=decision))
    assert decided.status == m.ApprovalStatus.APPROVED
    ok(list, get_notifications.sync_detailed(client=hub))
    ok(m.Count, get_notifications_unread_count.sync_detailed(client=hub))


me = people()
channel = rooms()
messages(channel)
tasks(me)
files()
agents(channel)
assert calls >= 50, f"only {calls} calls"
print(f"{calls} calls through the generated Python client")
