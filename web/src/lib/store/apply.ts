/**
 * What each frame of the hub changes in the data. Pure: no clock, no network, no DOM; returns the topics that changed.
 *
 * A topic is what views watch: `members`, `channels`, `channel:ID`, `typing:ID`, `runs`, `run:ID`, `approvals`, …
 */
import type { Frame, Json, LiveMessage } from '../frame';
import type { Action, Approval, Channel, Delivery, Member, Message, Notification, Pin, Reaction, Run, Task, Workspace } from '../types';
import type { Data } from './data';

const TYPING_MS = 6_000;
const THINKING_MS = 60_000;

type Applier = (data: Data, it: Json, now: number) => string[];

/** The message of a frame, as REST has it: what belongs to the event alone is left out, and `seq` is the message's own position. */
function messageOf(it: Json): LiveMessage {
  if (it.message) return { ...(it.message as LiveMessage) };
  const { message_seq: own, progress: _, thread_reply_count: __, ...message } = it;
  return (own === undefined ? message : { ...message, seq: own }) as unknown as LiveMessage;
}

function messageNew(data: Data, it: Json, now: number): string[] {
  const message = messageOf(it);
  const channel = message.channel_id;
  const timeline = data.timeline(channel);
  if (message.partial) {
    timeline.partial.set(message.id, message);
    return [`channel:${channel}`];
  }
  timeline.partial.delete(message.id);
  const topics = [`channel:${channel}`];
  if (message.thread_id) topics.push(`thread:${message.thread_id}`);
  // A reply that a fetched page brought already is in the count that came with it.
  const isNew = !timeline.messages.has(message.id);
  timeline.apply({ kind: 'put', message });
  if (isNew || typeof it.thread_reply_count === 'number') countReply(data, message.channel_id, message.thread_id, it.thread_reply_count, 1);
  topics.push(...stopTyping(data, channel, message.sender_id, now));
  return topics;
}

/** The count as the hub tells it, or our own. */
export function countReply(data: Data, channel: string, root: string | null | undefined, told: unknown, by: number): void {
  if (!root) return;
  const known = data.message(channel, root);
  // Also for a root that is not here yet: a fetch that brings it may be under way.
  const replies = typeof told === 'number' ? told : known && Math.max(0, known.reply_count + by);
  if (replies !== undefined) data.timeline(channel).apply({ kind: 'count', id: root, replies });
}

function messageEdit(data: Data, it: Json, now: number): string[] {
  const message = messageOf(it);
  if (message.partial) return messageNew(data, it, now);
  data.timeline(message.channel_id).apply({ kind: 'put', message });
  return message.thread_id ? [`channel:${message.channel_id}`, `thread:${message.thread_id}`] : [`channel:${message.channel_id}`];
}

function messageDelete(data: Data, it: Json): string[] {
  const channel = String(it.channel_id);
  const id = String(it.message_id ?? it.id);
  const timeline = data.timeline(channel);
  if (it.partial) timeline.partial.delete(id);
  else {
    const known = timeline.messages.get(id);
    timeline.apply({ kind: 'remove', id });
    // A deletion may be told at two positions: without the hub's own count only what was here is counted down.
    if (known || typeof it.thread_reply_count === 'number') countReply(data, channel, known?.thread_id ?? (it.thread_id as string | null), it.thread_reply_count, -1);
    data.pins.get(channel)?.delete(id);
  }
  const thread = it.thread_id ? [`thread:${String(it.thread_id)}`] : [];
  return [`channel:${channel}`, `pins:${channel}`, ...thread];
}

function reaction(data: Data, it: Json): string[] {
  const channel = String(it.channel_id);
  const id = String(it.message_id);
  data.timeline(channel).apply({ kind: 'react', id, reactions: it.reactions as Reaction[] });
  const thread = data.message(channel, id)?.thread_id;
  return thread ? [`channel:${channel}`, `thread:${thread}`] : [`channel:${channel}`];
}

function pinned(data: Data, it: Json): string[] {
  const pin: Pin = {
    id: String(it.pin_id ?? it.id),
    channel_id: String(it.channel_id),
    message_id: String(it.message_id),
    pinned_by: String(it.pinned_by),
    created_at: Number(it.created_at),
  };
  data.pins.get(pin.channel_id)?.set(pin.message_id, pin);
  return [`pins:${pin.channel_id}`, `channel:${pin.channel_id}`];
}

function unpinned(data: Data, it: Json): string[] {
  const channel = String(it.channel_id);
  data.pins.get(channel)?.delete(String(it.message_id));
  return [`pins:${channel}`, `channel:${channel}`];
}

function stopTyping(data: Data, channel: string, member: string, _now: number): string[] {
  const typing = data.typing.get(channel)?.delete(member);
  const thinking = data.thinking.get(channel)?.delete(member);
  return typing || thinking ? [`typing:${channel}`] : [];
}

function typingStart(data: Data, it: Json, now: number): string[] {
  const channel = String(it.channel_id);
  const member = String(it.member_id);
  if (member === data.me) return [];
  if (!data.typing.has(channel)) data.typing.set(channel, new Map());
  data.typing.get(channel)!.set(member, { member, name: String(it.name), until: now + TYPING_MS });
  return [`typing:${channel}`];
}

function thinking(data: Data, it: Json, now: number): string[] {
  const channel = String(it.channel_id);
  const member = String(it.member_id ?? it.agent_id);
  if (!data.thinking.has(channel)) data.thinking.set(channel, new Map());
  data.thinking.get(channel)!.set(member, now + THINKING_MS);
  return [`typing:${channel}`];
}

function presence(data: Data, it: Json): string[] {
  const member = data.members.get(String(it.member_id));
  if (!member) return [];
  const status = it.status as Member['status'];
  data.members.set(member.id, { ...member, status, online: status !== 'offline' });
  return ['members'];
}

function memberUpdate(data: Data, it: Json): string[] {
  const member = it as unknown as Member;
  data.members.set(member.id, { ...data.members.get(member.id), ...member });
  return ['members'];
}

function memberLeft(data: Data, it: Json): string[] {
  data.members.delete(String(it.member_id));
  return ['members'];
}

function channelUpdate(data: Data, it: Json): string[] {
  const told = it as unknown as Channel;
  const known = data.channels.get(told.id);
  // What is each reader's own is not in the frame.
  const own = known ?? { is_member: told.member_ids.includes(data.me), unread_count: 0, read_seq: told.seq, notification_preference: 'all' as const };
  data.channels.set(told.id, { ...told, ...pick(own), seq: Math.max(told.seq, known?.seq ?? 0) });
  return ['channels', `channel:${told.id}`];
}

const pick = ({ is_member, unread_count, read_seq, notification_preference }: Pick<Channel, 'is_member' | 'unread_count' | 'read_seq' | 'notification_preference'>) => ({
  is_member,
  unread_count,
  read_seq,
  notification_preference,
});

function channelDelete(data: Data, it: Json): string[] {
  const id = String(it.channel_id);
  data.channels.delete(id);
  data.positions.delete(id);
  data.timelines.delete(id);
  return ['channels', `channel:${id}`];
}

function joinedOrLeft(here: boolean): Applier {
  return (data, it) => {
    const channel = data.channels.get(String(it.channel_id));
    if (!channel) return [];
    const member = String(it.member_id);
    const others = channel.member_ids.filter((id) => id !== member);
    const member_ids = here ? [...others, member] : others;
    const is_member = member === data.me ? here : channel.is_member;
    data.channels.set(channel.id, { ...channel, member_ids, member_count: member_ids.length, is_member });
    return ['channels', `channel:${channel.id}`];
  };
}

function channelRead(data: Data, it: Json): string[] {
  const channel = data.channels.get(String(it.channel_id));
  if (!channel) return [];
  data.channels.set(channel.id, { ...channel, read_seq: Number(it.seq), unread_count: Number(it.unread_count) });
  return ['channels'];
}

function saved<T extends { id: string }>(map: (data: Data) => Map<string, T>, topic: string): Applier {
  return (data, it) => {
    const thing = it as unknown as T;
    const things = map(data);
    things.set(thing.id, { ...things.get(thing.id), ...thing });
    return [topic];
  };
}

function taskUpdate(data: Data, it: Json): string[] {
  const task = (it.task ?? it) as Task;
  data.tasks.set(task.id, task);
  return ['tasks'];
}

function taskDelete(data: Data, it: Json): string[] {
  data.tasks.delete(String(it.task_id ?? it.id));
  return ['tasks'];
}

export function putRun(data: Data, run: Run): string[] {
  const known = data.runs.get(run.id);
  // A run that ended stays ended, whatever is told late.
  if (known && known.ended_at && !run.ended_at) return [];
  data.runs.set(run.id, { ...known, ...run });
  return ['runs', `run:${run.id}`, `channel:${run.channel_id}`, `thread:${run.thread_id}`];
}

function runEvent(data: Data, it: Json): string[] {
  return putRun(data, (it.run ?? it) as Run);
}

export function putAction(data: Data, run: string, action: Action): void {
  const list = [...(data.actions.get(run) ?? [])];
  const at = list.findIndex((known) => known.id === action.id);
  if (at < 0) list.push(action);
  else if (list[at]!.seq <= action.seq) list[at] = action;
  // The place of an action is where it began.
  const begin = (it: Action): number => it.first_seq ?? 0;
  if (list.some((it, i) => i > 0 && begin(it) < begin(list[i - 1]!))) list.sort((a, b) => begin(a) - begin(b));
  data.actions.set(run, list);
}

function runAction(data: Data, it: Json): string[] {
  const run = String(it.run_id);
  const action = it.action as Action;
  putAction(data, run, action);
  const known = data.runs.get(run);
  if (known) data.runs.set(run, { ...known, action_count: Math.max(known.action_count, data.actions.get(run)!.length) });
  return [`run:${run}`, 'runs'];
}

export function putDelivery(data: Data, delivery: Delivery): string[] {
  const known = data.deliveries.get(delivery.id);
  if (known && known.updated_at > delivery.updated_at) return [];
  data.deliveries.set(delivery.id, delivery);
  return [`deliveries:${delivery.channel_id}`, `channel:${delivery.channel_id}`];
}

function workspaceChanged(data: Data, it: Json): string[] {
  data.workspace = { ...data.workspace, ...(it as unknown as Workspace) };
  return ['workspace'];
}

export function putApproval(data: Data, approval: Approval): string[] {
  const known = data.approvals.get(approval.id);
  // What was decided stays decided, whatever is told late.
  if (known && known.status !== 'pending' && approval.status === 'pending') return [];
  // What the reader may do about it is not in every answer.
  data.approvals.set(approval.id, { ...known, ...approval });
  return ['approvals'];
}

const approval: Applier = (data, it) => putApproval(data, it as unknown as Approval);
const notification = saved<Notification>((data) => data.notifications, 'notifications');

const appliers: Record<string, Applier> = {
  'message.new': messageNew,
  'message.edit': messageEdit,
  'message.delete': messageDelete,
  'reaction.add': reaction,
  'reaction.remove': reaction,
  'pin.add': pinned,
  'pin.remove': unpinned,
  'typing.start': typingStart,
  'typing.stop': (data, it, now) => stopTyping(data, String(it.channel_id), String(it.member_id), now),
  'agent.thinking': thinking,
  'presence.update': presence,
  'member.update': memberUpdate,
  'member.left': memberLeft,
  'channel.update': channelUpdate,
  'channel.delete': channelDelete,
  'channel.joined': joinedOrLeft(true),
  'channel.left': joinedOrLeft(false),
  'channel.read': channelRead,
  'notification.new': notification,
  'notification.update': notification,
  'approval.request': (data, it, now) => (it.agent_id ? approval(data, it, now) : []),
  'approval.result': approval,
  'task.update': taskUpdate,
  'task.assigned': taskUpdate,
  'task.delete': taskDelete,
  'run.started': runEvent,
  'run.updated': runEvent,
  'run.completed': runEvent,
  'run.action': runAction,
  'delivery.update': (data, it) => putDelivery(data, it as unknown as Delivery),
  'workspace.changed': workspaceChanged,
};

/** Frames that change what is stored in a channel, each with its own position. */
export const STORED = new Set(['message.new', 'message.edit', 'message.delete', 'reaction.add', 'reaction.remove', 'pin.add', 'pin.remove']);

/** Frames about what is listed: members, channels, the workspace. Telling one again changes nothing. */
export const LISTED = new Set([
  'presence.update',
  'member.update',
  'member.left',
  'channel.update',
  'channel.delete',
  'channel.joined',
  'channel.left',
  'workspace.changed',
]);

export function apply(data: Data, frame: Frame, now: number): string[] {
  return appliers[frame.type]?.(data, frame.data ?? {}, now) ?? [];
}

/** What a message means for the channel as the list of channels shows it. Only for events that came for the first time. */
export function countMessage(data: Data, message: Message): string[] {
  const channel = data.channels.get(message.channel_id);
  if (!channel) return [];
  const mine = message.sender_id === data.me;
  const unread_count = mine ? 0 : channel.unread_count + 1;
  const read_seq = mine ? message.seq : channel.read_seq;
  data.channels.set(channel.id, { ...channel, unread_count, read_seq, room_version: channel.room_version + 1 });
  return ['channels'];
}
