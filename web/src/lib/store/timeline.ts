/**
 * The messages of one channel: one stretch without holes, oldest first, with the replies of its threads beside it.
 *
 * A page that is fetched while events arrive may be older or newer than they are. Events are therefore remembered while a
 * fetch is under way and applied again on top of its result; each says the whole of what it changes, so this is harmless.
 */
import type { LiveMessage } from '../frame';
import type { Message, Reaction } from '../types';

/** A stretch of a channel as it was fetched, and whether it reaches the first and the newest message. */
export interface Fetched {
  messages: Message[];
  mode: 'newest' | 'older' | 'newer' | 'around';
  start: boolean;
  end: boolean;
}

export type Change =
  | { kind: 'put'; message: Message }
  | { kind: 'remove'; id: string; thread?: string | null }
  | { kind: 'react'; id: string; reactions: Reaction[] }
  | { kind: 'count'; id: string; replies: number };

export class Timeline {
  readonly messages = new Map<string, Message>();
  /** Messages outside threads, by position. */
  order: string[] = [];
  /** Per root: its replies that are known, by position. */
  readonly replies = new Map<string, string[]>();
  /** Roots of which every reply is known. */
  readonly wholeThreads = new Set<string>();
  /** Texts that still grow, by their own id. */
  readonly partial = new Map<string, LiveMessage>();
  loaded = false;
  reachedStart = false;
  /** Whether the stretch ends with the newest message; new ones are appended only then. */
  reachedEnd = false;
  /** Lowest and highest position that was fetched: where the next older and newer page begin. */
  floor = Infinity;
  ceiling = 0;
  private fetches = 0;
  private journal: Change[] = [];

  apply(change: Change): void {
    if (this.fetches > 0) this.journal.push(change);
    this.change(change);
  }

  private change(change: Change): void {
    if (change.kind === 'put') this.put(change.message);
    else if (change.kind === 'remove') this.remove(change.id);
    else if (change.kind === 'react') this.update(change.id, { reactions: change.reactions });
    else this.update(change.id, { reply_count: change.replies });
  }

  private update(id: string, fields: Partial<Message>): void {
    const old = this.messages.get(id);
    if (old) this.messages.set(id, { ...old, ...fields });
  }

  /** A new message or the new text of an old one. One outside the stretch is not kept. */
  private put(message: Message): void {
    const known = this.messages.has(message.id);
    const covered = this.covers(message);
    if (message.thread_id) {
      if (!known && !covered && !this.wholeThreads.has(message.thread_id)) return;
      this.messages.set(message.id, message);
      insert(this.repliesOf(message.thread_id), message, this.messages);
      return;
    }
    if (known || covered) this.messages.set(message.id, message);
    // Known from its thread is not yet part of the stretch.
    if (covered) insert(this.order, message, this.messages);
  }

  private covers(message: Message): boolean {
    if (!this.loaded) return false;
    // An empty page of a channel without messages: everything that comes is after it.
    const afterStart = this.reachedStart || message.seq > this.floor;
    const beforeEnd = this.reachedEnd || message.seq < this.ceiling;
    return afterStart && beforeEnd;
  }

  private remove(id: string): void {
    const old = this.messages.get(id);
    if (!old) return;
    this.messages.delete(id);
    drop(old.thread_id ? this.repliesOf(old.thread_id) : this.order, id);
  }

  private repliesOf(root: string): string[] {
    let replies = this.replies.get(root);
    if (!replies) this.replies.set(root, (replies = []));
    return replies;
  }

  /** Say before a fetch begins … */
  beginFetch(): void {
    this.fetches += 1;
  }

  /** … and after it ended, with what came, newest first as the hub lists it. */
  endFetch(page?: Fetched): void {
    this.fetches -= 1;
    if (page) {
      if (page.mode === 'newest' || page.mode === 'around') this.clearStretch();
      if (page.mode !== 'newer' && page.start) this.reachedStart = true;
      if (page.mode !== 'older' && page.end) this.reachedEnd = true;
      this.loaded = true;
      for (const message of page.messages) {
        this.floor = Math.min(this.floor, message.seq);
        this.ceiling = Math.max(this.ceiling, message.seq);
        this.merge(message);
      }
      for (const change of this.journal) this.change(change);
    }
    if (this.fetches === 0) this.journal = [];
  }

  /** A whole thread, root first. */
  endThreadFetch(root: string, thread?: Message[]): void {
    this.fetches -= 1;
    if (thread) {
      const listed = new Set(thread.map((message) => message.id));
      for (const id of [...this.repliesOf(root)]) if (!listed.has(id)) this.remove(id);
      for (const message of thread) this.merge(message, true);
      this.wholeThreads.add(root);
      const rootNow = this.messages.get(root);
      if (rootNow) this.messages.set(root, { ...rootNow, reply_count: thread.length - 1 });
      for (const change of this.journal) this.change(change);
    }
    if (this.fetches === 0) this.journal = [];
  }

  private merge(message: Message, outside = false): void {
    this.messages.set(message.id, message);
    if (message.thread_id) {
      insert(this.repliesOf(message.thread_id), message, this.messages);
    } else if (!outside) insert(this.order, message, this.messages);
  }

  private clearStretch(): void {
    for (const id of this.order) if (!this.replies.has(id)) this.messages.delete(id);
    this.order = [];
    for (const [root, replies] of this.replies) {
      if (this.wholeThreads.has(root)) continue;
      for (const id of replies) this.messages.delete(id);
      this.messages.delete(root);
      this.replies.delete(root);
    }
    this.reachedStart = false;
    this.reachedEnd = false;
    this.floor = Infinity;
    this.ceiling = 0;
  }

  /** Everything is to be loaded again. */
  forget(): void {
    this.wholeThreads.clear();
    this.clearStretch();
    this.messages.clear();
    this.replies.clear();
    this.partial.clear();
    this.loaded = false;
  }

  repliesIn(root: string): Message[] {
    const ids = this.replies.get(root) ?? [];
    return ids.map((id) => this.messages.get(id)).filter((message) => message !== undefined);
  }

  /** Where a message is in `order`, or -1. */
  indexOf(id: string): number {
    const message = this.messages.get(id);
    if (!message || message.thread_id) return -1;
    const at = lowerBound(this.order, message.seq, this.messages);
    return this.order[at] === id ? at : -1;
  }

  /** The first message after a position. */
  indexAfter(seq: number): number {
    return lowerBound(this.order, seq + 1, this.messages);
  }
}

function lowerBound(ids: string[], seq: number, messages: Map<string, Message>): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((messages.get(ids[middle]!)?.seq ?? 0) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

function insert(ids: string[], message: Message, messages: Map<string, Message>): void {
  const last = ids[ids.length - 1];
  if (last === undefined || (messages.get(last)?.seq ?? 0) < message.seq) {
    ids.push(message.id);
    return;
  }
  const at = lowerBound(ids, message.seq, messages);
  if (ids[at] !== message.id) ids.splice(at, 0, message.id);
}

function drop(ids: string[], id: string): void {
  const at = ids.lastIndexOf(id);
  if (at >= 0) ids.splice(at, 1);
}
