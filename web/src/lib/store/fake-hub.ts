/** For tests: a channel as the hub keeps it, with its events and its pages. */
import type { Frame, Json } from '../frame';
import type { Message } from '../types';

export class Random {
  constructor(private state: number) {}

  next(): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return this.state / 2 ** 32;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  pick<T>(items: T[]): T | undefined {
    return items[this.below(items.length)];
  }
}

export class FakeHub {
  readonly channel = 'ch_1';
  messages: Message[] = [];
  readonly events: Frame[] = [];
  pins = new Map<string, string>();
  /** Whether events of replies carry the root's count. */
  tellsCounts = true;
  private made = 0;
  private clock = 1_700_000_000_000;

  get seq(): number {
    return this.events.length;
  }

  private tell(type: string, data: Json): Frame {
    const frame: Frame = { type, data: { ...data, channel_id: this.channel, seq: this.seq + 1 } };
    this.events.push(frame);
    return frame;
  }

  private message(id: string): Message | undefined {
    return this.messages.find((it) => it.id === id);
  }

  private change(id: string, fields: Partial<Message>): Message {
    this.messages = this.messages.map((it) => (it.id === id ? { ...it, ...fields } : it));
    return this.message(id)!;
  }

  send(thread: string | null = null, sender = 'mem_2', metadata: Json = {}): Frame {
    this.clock += 1000;
    const id = `msg_${++this.made}`;
    const message: Message = {
      id,
      channel_id: this.channel,
      sender_id: sender,
      sender_name: sender,
      thread_id: thread ?? undefined,
      content: `text ${this.made}`,
      content_type: 'text',
      type: 'user',
      metadata,
      edit_count: 0,
      reply_count: 0,
      created_at: this.clock,
      updated_at: this.clock,
      seq: this.seq + 1,
    };
    this.messages.push(message);
    const root = thread ? this.change(thread, { reply_count: this.message(thread)!.reply_count + 1 }) : undefined;
    return this.tell('message.new', { ...message, ...(root && this.tellsCounts ? { thread_reply_count: root.reply_count } : {}) });
  }

  edit(id: string): void {
    this.clock += 1000;
    const message = this.change(id, { content: `edited ${this.clock}`, edited_at: this.clock, edit_count: 1 });
    this.tell('message.edit', { ...message, message_seq: message.seq });
  }

  remove(id: string): void {
    const gone = this.message(id)!;
    this.messages = this.messages.filter((it) => it.id !== id && it.thread_id !== id);
    const root = gone.thread_id ? this.message(gone.thread_id) : undefined;
    const counted = root ? this.change(root.id, { reply_count: root.reply_count - 1 }) : undefined;
    this.tell('message.delete', { id, message_id: id, thread_id: gone.thread_id, ...(counted && this.tellsCounts ? { thread_reply_count: counted.reply_count } : {}) });
  }

  react(id: string, emoji: string): void {
    const message = this.change(id, { reactions: [{ emoji, members: ['mem_2'] }] });
    this.tell('reaction.add', { message_id: id, emoji, reactions: message.reactions });
  }

  pin(id: string): void {
    this.pins.set(id, `pin_${id}`);
    this.tell('pin.add', { pin_id: `pin_${id}`, message_id: id, pinned_by: 'mem_2', created_at: this.clock });
  }

  /** One random thing happens. */
  step(random: Random): void {
    const roots = this.messages.filter((it) => !it.thread_id);
    const replies = this.messages.filter((it) => it.thread_id);
    const any = random.pick(this.messages);
    const dice = random.below(10);
    if (dice < 4 || !any) this.send();
    else if (dice < 6) this.send(random.pick(roots)?.id ?? null);
    else if (dice < 7) this.edit(any.id);
    else if (dice < 8) this.react(any.id, random.pick(['a', 'b', 'c'])!);
    // A root with replies stays: what becomes of its replies is not the page's to decide.
    else if (dice < 9) this.remove((random.pick(replies) ?? random.pick(roots.filter((it) => !it.reply_count)) ?? any).id);
    else this.pin(any.id);
  }

  /** Newest first, as REST lists them. */
  page(limit: number, bounds: { before?: number; after?: number } = {}): Message[] {
    const all = this.messages.filter((it) => (bounds.before === undefined || it.seq < bounds.before) && (bounds.after === undefined || it.seq > bounds.after));
    const part = bounds.after === undefined ? all.slice(-limit) : all.slice(0, limit);
    return part.reverse();
  }

  thread(root: string): Message[] {
    return this.messages.filter((it) => it.id === root || it.thread_id === root);
  }
}
