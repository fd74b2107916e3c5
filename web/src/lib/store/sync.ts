/**
 * Nothing missed, nothing doubled: positions in a channel are dense, so the next event is the one with the next number.
 * A smaller number was applied before; a larger one waits until the hub told what lies between.
 */
import type { Frame, Json } from '../frame';
import type { Message } from '../types';
import { LISTED, STORED, apply, countMessage } from './apply';
import type { Data } from './data';

export interface Received {
  topics: string[];
  /** A channel of which something is missing: ask `sync.resume` after its position. */
  gap?: string;
  /** The hub told that too much was missed: load this channel again. */
  reload?: string;
}

export class Sync {
  /** Per channel: events that came too early, by position. */
  private readonly early = new Map<string, Map<number, Frame>>();

  /** What was told while lists are being fetched. */
  private readonly fetches = new Set<Frame[]>();

  constructor(private readonly data: Data) {}

  /** Call before lists are fetched; what it returns, when they were put: what was told in between is newer than they are. */
  listing(): (now: number) => string[] {
    const told: Frame[] = [];
    this.fetches.add(told);
    return (now) => {
      this.fetches.delete(told);
      return told.flatMap((frame) => apply(this.data, frame, now));
    };
  }

  receive(frame: Frame, now: number): Received {
    if (LISTED.has(frame.type)) for (const told of this.fetches) told.push(frame);
    const it = (frame.data ?? {}) as Json;
    if (frame.type === 'sync.done') return this.done(String(it.channel_id), Number(it.seq), now);
    if (frame.type === 'sync.reload') return this.reload(String(it.channel_id), Number(it.seq), now);
    if (frame.type === 'sync.lagged') return { topics: [] };
    const seq = typeof it.seq === 'number' ? it.seq : null;
    const channel = typeof it.channel_id === 'string' ? it.channel_id : '';
    if (seq === null || !STORED.has(frame.type) || !channel) return { topics: apply(this.data, frame, now) };
    return this.stored(channel, seq, frame, now);
  }

  private stored(channel: string, seq: number, frame: Frame, now: number): Received {
    const position = this.data.positions.get(channel);
    // A channel we have not listed yet begins with what is first heard of it.
    if (position === undefined) {
      this.data.positions.set(channel, seq);
      return { topics: this.applyStored(frame, now) };
    }
    if (seq <= position) return { topics: [] };
    if (seq > position + 1) {
      if (!this.early.has(channel)) this.early.set(channel, new Map());
      this.early.get(channel)!.set(seq, frame);
      return { topics: [], gap: channel };
    }
    this.data.positions.set(channel, seq);
    const topics = this.applyStored(frame, now);
    return { topics: [...topics, ...this.drain(channel, now)] };
  }

  private applyStored(frame: Frame, now: number): string[] {
    const topics = apply(this.data, frame, now);
    if (frame.type !== 'message.new') return topics;
    return [...topics, ...countMessage(this.data, (frame.data.message ?? frame.data) as Message)];
  }

  private drain(channel: string, now: number): string[] {
    const waiting = this.early.get(channel);
    const topics: string[] = [];
    for (;;) {
      const next = (this.data.positions.get(channel) ?? 0) + 1;
      const frame = waiting?.get(next);
      if (!frame) break;
      waiting!.delete(next);
      this.data.positions.set(channel, next);
      topics.push(...this.applyStored(frame, now));
    }
    for (const seq of waiting?.keys() ?? []) if (seq <= (this.data.positions.get(channel) ?? 0)) waiting!.delete(seq);
    if (waiting?.size === 0) this.early.delete(channel);
    return topics;
  }

  /** The hub told everything up to `seq`. */
  private done(channel: string, seq: number, now: number): Received {
    const position = this.data.positions.get(channel) ?? 0;
    if (seq > position) this.data.positions.set(channel, seq);
    return { topics: this.drain(channel, now), ...(this.early.has(channel) ? { gap: channel } : {}) };
  }

  private reload(channel: string, seq: number, now: number): Received {
    this.data.positions.set(channel, Math.max(seq, this.data.positions.get(channel) ?? 0));
    return { topics: [...this.drain(channel, now), `channel:${channel}`], reload: channel };
  }

  /** Where to continue after the connection was away. */
  positions(): Record<string, number> {
    const positions: Record<string, number> = {};
    for (const [channel, seq] of this.data.positions) {
      if (this.data.channels.get(channel)?.is_member) positions[channel] = seq;
    }
    return positions;
  }

  /** A fresh listing of a channel: only what lies behind it needs to be heard. */
  listed(channel: string, seq: number): void {
    if (!this.data.positions.has(channel)) this.data.positions.set(channel, seq);
  }
}
