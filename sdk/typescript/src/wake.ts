/** A wake: who wants the agent, what for, and what was said before. */
import type { Task, WakeReason } from './objects.js';

/** A message as it is bundled with a wake. */
export interface RecentMessage {
  id: string;
  sender_id: string;
  sender_name: string;
  content: string;
  created_at: number;
  thread_id?: string;
  seq: number;
}

/** `agent.wake` as it travels. */
export interface WakeFrame {
  reason: WakeReason;
  context: {
    channel?: { id: string; name?: string; type?: string } | null;
    recent_messages?: RecentMessage[] | null;
    thread?: { id: string; root?: RecentMessage | null; messages?: RecentMessage[] } | null;
    task?: Task | null;
    delivery?: { id: string; message_ids: string[]; thread_id?: string | null; sender_id: string };
    session?: { engine?: string; resume?: string } | null;
  };
}

export class Wake {
  /** `mention`, `dm`, `thread_reply`, `task_assigned` or `manual`. */
  readonly reason: WakeReason;
  /** Names this wake, also when it is sent again; empty where somebody only knocked. */
  readonly id: string;
  /** Absent where a task belongs to no channel. */
  readonly channel: { id: string; name?: string; type?: string } | null;
  /** The thread it was said in; none in the channel itself. */
  readonly threadId: string | null;
  /** Up to twenty messages, the oldest first. */
  readonly messages: readonly RecentMessage[];
  /** Those of them that are meant for the agent. */
  readonly messageIds: readonly string[];
  readonly senderId: string;
  /** The task that was given to the agent. */
  readonly task: Task | null;

  constructor({ reason, context }: WakeFrame) {
    this.reason = reason;
    this.id = context.delivery?.id ?? '';
    this.channel = context.channel ?? null;
    this.threadId = context.delivery?.thread_id ?? null;
    this.messages = context.recent_messages ?? [];
    this.messageIds = context.delivery?.message_ids ?? [];
    this.senderId = context.delivery?.sender_id ?? '';
    this.task = context.task ?? null;
  }

  /** What was said to the agent, or the title of the task. */
  get text(): string {
    const meant = this.messages.filter((message) => this.messageIds.includes(message.id));
    return meant.map((message) => message.content).join('\n') || this.task?.title || '';
  }

  /** Who said it, by name. */
  get sender(): string {
    return this.messages.findLast((message) => message.sender_id === this.senderId)?.sender_name ?? '';
  }
}
