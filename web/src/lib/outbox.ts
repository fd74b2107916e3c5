/**
 * What was typed and is not yet stored by the hub. Kept by the browser; each has its own key, so that sending again is harmless.
 * One at a time per channel, so that two lines arrive in the order in which they were written.
 */
import type { ApiError } from './api';
import type { Message, NewMessage } from './types';
import { keep, kept } from './storage';
import { uuid } from './uuid';

export interface Pending {
  /** Idempotency key, and the `client_id` in the message's metadata. */
  key: string;
  member: string;
  channel: string;
  body: NewMessage;
  created_at: number;
  state: 'waiting' | 'sending' | 'failed';
  error?: string;
  /** Not before this moment (a limit of the hub). */
  notBefore?: number;
}

export interface OutboxOutside {
  send(channel: string, body: NewMessage, key: string): Promise<Message>;
  stored(message: Message): void;
  changed(channel: string): void;
  now(): number;
  after(ms: number, run: () => void): void;
}

export class Outbox {
  private items: Pending[] = [];
  private readonly busy = new Set<string>();
  private member = '';

  constructor(private readonly outside: OutboxOutside) {}

  /** Takes up what an earlier visit of this member left. */
  open(member: string): void {
    this.member = member;
    const left = kept<Pending[]>(`outbox.${member}`) ?? [];
    this.items = left.map((item) => (item.state === 'sending' ? { ...item, state: 'waiting' } : item));
    this.resume();
  }

  of(channel: string, thread: string | null = null): Pending[] {
    return this.items.filter((item) => item.channel === channel && (item.body.thread_id ?? null) === thread);
  }

  get size(): number {
    return this.items.length;
  }

  add(channel: string, body: NewMessage): Pending {
    const key = uuid();
    const item: Pending = {
      key,
      member: this.member,
      channel,
      body: { ...body, metadata: { ...body.metadata, client_id: key } },
      created_at: this.outside.now(),
      state: 'waiting',
    };
    this.items.push(item);
    this.save(channel);
    void this.pump(channel);
    return item;
  }

  retry(key: string): void {
    this.change(key, { state: 'waiting', error: undefined, notBefore: undefined });
    this.resume();
  }

  discard(key: string): void {
    const item = this.items.find((one) => one.key === key);
    this.items = this.items.filter((one) => one.key !== key);
    if (item) this.save(item.channel);
  }

  /** The hub told of a message with this key. */
  arrived(key: string): void {
    if (this.items.some((item) => item.key === key)) this.discard(key);
  }

  /** There is a connection again. */
  resume(): void {
    for (const channel of new Set(this.items.map((item) => item.channel))) void this.pump(channel);
  }

  private async pump(channel: string): Promise<void> {
    if (this.busy.has(channel)) return;
    this.busy.add(channel);
    try {
      for (;;) {
        const item = this.items.find((one) => one.channel === channel && one.state === 'waiting');
        if (!item) return;
        const wait = (item.notBefore ?? 0) - this.outside.now();
        if (wait > 0) {
          this.outside.after(wait, () => void this.pump(channel));
          return;
        }
        if (!(await this.sendOne(item))) return;
      }
    } finally {
      this.busy.delete(channel);
    }
  }

  /** False when the rest has to wait too. */
  private async sendOne(item: Pending): Promise<boolean> {
    this.change(item.key, { state: 'sending' });
    try {
      const message = await this.outside.send(item.channel, item.body, item.key);
      this.outside.stored(message);
      this.discard(item.key);
      return true;
    } catch (caught) {
      const error = caught as ApiError;
      if (error.isPassing) {
        const pause = error.retryAfter * 1000 || 4000;
        this.change(item.key, { state: 'waiting', error: error.message, notBefore: this.outside.now() + pause });
        this.outside.after(pause, () => void this.pump(item.channel));
        return false;
      }
      // An ended session is mended by signing in again; anything else is for the writer to decide.
      const state = error.status === 401 ? 'waiting' : 'failed';
      this.change(item.key, { state, error: error.message });
      return state === 'failed';
    }
  }

  private change(key: string, fields: Partial<Pending>): void {
    const item = this.items.find((one) => one.key === key);
    if (!item) return;
    this.items = this.items.map((one) => (one.key === key ? { ...one, ...fields } : one));
    this.save(item.channel);
  }

  private save(channel: string): void {
    keep(`outbox.${this.member}`, this.items.length ? this.items : null);
    this.outside.changed(channel);
  }
}
