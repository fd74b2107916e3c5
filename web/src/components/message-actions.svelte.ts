/** What one can do with a message, for the buttons and for the keys alike. */
import { addressOfMessage } from '../lib/address';
import * as api from '../lib/api';
import { dialogs } from '../lib/dialogs.svelte';
import { hub } from '../lib/hub.svelte';
import { touch, touchNow } from '../lib/live.svelte';
import { complain, toast } from '../lib/toasts.svelte';
import type { Message } from '../lib/types';

class Editing {
  id = $state('');
}
export const editing = new Editing();

export const quickEmoji = ['👍', '✅', '👀', '🎉', '❤️', '😄', '🚀', '🤔'];

/** Shown at once; the hub's event confirms it. */
export async function react(message: Message, emoji: string): Promise<void> {
  const mine = message.reactions?.some((it) => it.emoji === emoji && it.members.includes(hub.me));
  const before = message.reactions ?? [];
  const others = before.map((it) => (it.emoji === emoji ? { ...it, members: it.members.filter((id) => id !== hub.me) } : it));
  const reactions = mine
    ? others.filter((it) => it.members.length)
    : others.some((it) => it.emoji === emoji)
      ? others.map((it) => (it.emoji === emoji ? { ...it, members: [...it.members, hub.me] } : it))
      : [...others, { emoji, members: [hub.me] }];
  const timeline = hub.data.timeline(message.channel_id);
  const show = (list: typeof reactions) => {
    timeline.apply({ kind: 'react', id: message.id, reactions: list });
    touchNow(`channel:${message.channel_id}`, ...(message.thread_id ? [`thread:${message.thread_id}`] : [`thread:${message.id}`]));
  };
  show(reactions);
  try {
    await (mine ? api.messages.unreact(message.id, emoji) : api.messages.react(message.id, emoji));
  } catch (error) {
    show(before);
    complain(error);
  }
}

export async function togglePin(message: Message): Promise<void> {
  const pin = hub.data.pins.get(message.channel_id)?.get(message.id);
  try {
    if (pin) await api.channels.unpin(pin.id);
    else await api.channels.pin(message.channel_id, message.id);
  } catch (error) {
    complain(error);
  }
}

export async function remove(message: Message): Promise<void> {
  const yes = await dialogs.confirm({ title: 'Delete this message?', text: message.content.length > 200 ? `${message.content.slice(0, 200)}…` : message.content, yes: 'Delete', danger: true });
  if (yes) await api.messages.remove(message.id).catch(complain);
}

export async function saveEdit(message: Message, content: string): Promise<boolean> {
  if (content.trim() === message.content) return true;
  try {
    const saved = await api.messages.edit(message.id, content.trim());
    hub.data.timeline(message.channel_id).apply({ kind: 'put', message: saved });
    touch(`channel:${message.channel_id}`, ...(message.thread_id ? [`thread:${message.thread_id}`] : []));
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

export function copyLink(message: Message): void {
  void navigator.clipboard?.writeText(location.origin + addressOfMessage(message)).then(() => toast('Link copied'));
}

export function copyText(message: Message): void {
  void navigator.clipboard?.writeText(message.content).then(() => toast('Text copied'));
}

export async function markUnread(message: Message): Promise<void> {
  await hub.markRead(message.channel_id, message.seq - 1).catch(complain);
}

export async function makeTask(message: Message): Promise<void> {
  const title = message.content.replace(/\s+/g, ' ').trim().slice(0, 120) || 'Task';
  const answer = await dialogs.confirm({ title: 'Make this a task', yes: 'Create task', note: { label: 'What is to be done', required: true, value: title } });
  if (typeof answer !== 'string') return;
  try {
    await api.tasks.create(hub.ws, { title: answer.slice(0, 200), channel_id: message.channel_id, message_id: message.id });
    toast('Task created');
  } catch (error) {
    complain(error);
  }
}

/** The edits a message went through. */
export async function showEdits(message: Message): Promise<void> {
  try {
    const edits = await api.messages.edits(message.id);
    const { default: Edits } = await import('./Edits.svelte');
    await dialogs.show(Edits as never, { title: 'Earlier versions', edits });
  } catch (error) {
    complain(error);
  }
}
