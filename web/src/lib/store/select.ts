/** Questions about the data that several views ask. Pure. */
import type { Approval, Channel, Delivery, Member, Message, Notification, Run, WorkspaceRight } from '../types';
import type { Data } from './data';

export const isDirect = (channel: Channel): boolean => channel.type === 'dm' || channel.type === 'group_dm';

const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);

/** The channels of the list: mine, without archived ones, by name. */
export function myChannels(data: Data): Channel[] {
  return [...data.channels.values()].filter((it) => !isDirect(it) && it.is_member && !it.archived).sort(byName);
}

export function otherChannels(data: Data): Channel[] {
  return [...data.channels.values()].filter((it) => !isDirect(it) && (!it.is_member || it.archived)).sort(byName);
}

export function directs(data: Data): Channel[] {
  return [...data.channels.values()]
    .filter((it) => isDirect(it) && it.is_member)
    .sort((a, b) => Number(b.unread_count > 0) - Number(a.unread_count > 0) || titleOf(data, a).localeCompare(titleOf(data, b)));
}

/** The others in a direct channel. */
export function peersOf(data: Data, channel: Channel): Member[] {
  const others = channel.member_ids.filter((id) => id !== data.me);
  return others.map((id) => data.members.get(id)).filter((member) => member !== undefined);
}

export function titleOf(data: Data, channel: Channel): string {
  if (!isDirect(channel)) return channel.name;
  const names = peersOf(data, channel).map((member) => member.name);
  return names.length ? names.join(', ') : channel.member_ids.includes(data.me) && channel.member_ids.length === 1 ? 'Notes to self' : channel.name;
}

/** Whom one can speak to and give something to do: the hub's own daemon only carries others. */
export const everybody = (data: Data): Member[] => [...data.members.values()].filter((it) => !it.is_daemon).sort(byName);
export const people = (data: Data): Member[] => everybody(data).filter((it) => it.type === 'human');
export const agents = (data: Data): Member[] => everybody(data).filter((it) => it.type === 'agent');

/** The channels somebody is in, direct ones left out. */
export const channelsOf = (data: Data, member: string): Channel[] => [...data.channels.values()].filter((it) => it.member_ids.includes(member) && !isDirect(it));

/** The runs of an agent, newest first. */
export const runsOf = (data: Data, agent: string): Run[] => [...data.runs.values()].filter((it) => it.agent_id === agent).sort((a, b) => b.started_at - a.started_at);

/** What the hub says that the reader may do in the workspace. */
export const may = (data: Data, right: WorkspaceRight): boolean => data.workspace?.may?.includes(right) ?? false;

export const isPending = (approval: Approval, now: number): boolean =>
  approval.status === 'pending' && (!approval.expires_at || approval.expires_at > now);

export function pendingApprovals(data: Data, now: number): Approval[] {
  return [...data.approvals.values()].filter((it) => isPending(it, now)).sort((a, b) => a.created_at - b.created_at);
}

/** Notices that ask for something, unlike a direct message or a reply, which their own counts show. */
const WAITS = new Set(['mention', 'task_assigned', 'task', 'review', 'delivery_expired', 'delivery_failed', 'run_failed', 'wake_failed', 'expired', 'failed', 'budget']);

export type Need =
  | { kind: 'approval'; id: string; at: number; approval: Approval }
  | { kind: 'notice'; id: string; at: number; notice: Notification }
  | { kind: 'run'; id: string; at: number; run: Run };

export function needsYou(data: Data, now: number): Need[] {
  const needs: Need[] = [];
  for (const approval of pendingApprovals(data, now)) {
    if (approval.may_decide) needs.push({ kind: 'approval', id: approval.id, at: approval.created_at, approval });
  }
  for (const notice of data.notifications.values()) {
    if (notice.is_read || notice.acked_at) continue;
    if (notice.source_type === 'approval' || notice.type.startsWith('approval')) continue;
    if (WAITS.has(notice.type) || WAITS.has(notice.source_type)) needs.push({ kind: 'notice', id: notice.id, at: notice.created_at, notice });
  }
  const rank = { approval: 0, run: 1, notice: 2 };
  return needs.sort((a, b) => rank[a.kind] - rank[b.kind] || b.at - a.at);
}

export const isOpen = (run: Run): boolean => run.state === 'running' || run.state === 'waiting';

/** What stops with these agents, in words; empty when nobody of them is at work. */
export function stopsWith(data: Data, agents: string[]): string {
  const runs = runsAtWork(data).filter((run) => agents.includes(run.agent_id));
  const each = runs.map((run) => `${run.agent_name} in ${data.channels.get(run.channel_id)?.name ? `#${data.channels.get(run.channel_id)!.name}` : 'a conversation'}`);
  return each.length ? `${each.length === 1 ? 'A run stops' : `${each.length} runs stop`}: ${each.join(', ')}.` : '';
}

export function runsAtWork(data: Data): Run[] {
  return [...data.runs.values()].filter(isOpen).sort((a, b) => a.started_at - b.started_at);
}

/** Runs under the message that began them, oldest first. */
export function runsByTrigger(data: Data, channel?: string): Map<string, Run[]> {
  const found = new Map<string, Run[]>();
  for (const run of data.runs.values()) {
    if (channel && run.channel_id !== channel) continue;
    // Work in a thread shows under its first message too, as long as it goes on.
    const places = isOpen(run) && run.thread_id !== run.trigger_id ? [run.trigger_id, run.thread_id] : [run.trigger_id];
    for (const place of places) {
      const list = found.get(place);
      if (list) list.push(run);
      else found.set(place, [run]);
    }
  }
  for (const list of found.values()) list.sort((a, b) => a.started_at - b.started_at);
  return found;
}

/** Deliveries to show under a message: under the last one of those that woke together. */
export function deliveriesByMessage(data: Data, channel: string): Map<string, Delivery[]> {
  const found = new Map<string, Delivery[]>();
  for (const delivery of data.deliveries.values()) {
    const last = delivery.message_ids[delivery.message_ids.length - 1];
    if (delivery.channel_id !== channel || !last) continue;
    const list = found.get(last);
    if (list) list.push(delivery);
    else found.set(last, [delivery]);
  }
  return found;
}

/** Who writes right now, without oneself. */
export function typists(data: Data, channel: string, now: number): { name: string; thinks: boolean }[] {
  const found: { name: string; thinks: boolean }[] = [];
  for (const typist of data.typing.get(channel)?.values() ?? []) {
    const member = data.members.get(typist.member);
    if (typist.until > now) found.push({ name: typist.name, thinks: member?.type === 'agent' });
  }
  for (const [member, until] of data.thinking.get(channel) ?? []) {
    const name = data.nameOf(member);
    if (until > now && !found.some((one) => one.name === name)) found.push({ name, thinks: true });
  }
  return found;
}

export const clientIdOf = (message: Message): string | undefined => {
  const id = message.metadata?.client_id;
  return typeof id === 'string' ? id : undefined;
};

/** Notices about messages that were just looked at: those of a channel outside its threads, or those of one thread. */
export function seenNotices(data: Data, channel: string, thread: string | null): string[] {
  const seen: string[] = [];
  for (const notice of data.notifications.values()) {
    if (notice.is_read || notice.channel_id !== channel || !notice.message_id) continue;
    if (!['mention', 'dm', 'thread_reply'].includes(notice.type)) continue;
    const message = data.message(channel, notice.message_id);
    if (message && (message.thread_id ?? null) === thread) seen.push(notice.id);
  }
  return seen;
}

/** How many replies in threads one was told of and has not read. */
export const unreadThreads = (data: Data): number => [...data.notifications.values()].filter((it) => it.type === 'thread_reply' && !it.is_read).length;

/** The next channel with something new, after the given one. */
export function nextUnread(data: Data, from: string, step: 1 | -1, only?: 'direct'): Channel | undefined {
  const all = [...myChannels(data), ...directs(data)].filter((it) => (only ? isDirect(it) : true));
  const at = all.findIndex((it) => it.id === from);
  for (let i = 1; i <= all.length; i += 1) {
    const channel = all[(((at < 0 && step < 0 ? 0 : at) + step * i) % all.length + all.length) % all.length]!;
    if (channel.unread_count > 0 && channel.id !== from) return channel;
  }
  return undefined;
}
