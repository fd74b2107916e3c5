/** The rows of a message list: messages with what belongs under them, and the lines between. Pure; unchanged rows stay the same object. */
import type { LiveMessage } from '../frame';
import type { Pending } from '../outbox';
import type { Approval, Delivery, Message, Run } from '../types';
import { isSameDay } from '../words';
import type { Data } from './data';
import { clientIdOf, deliveriesByMessage, isPending, runsByTrigger } from './select';

export interface MessageRow {
  kind: 'message';
  key: string;
  message: LiveMessage;
  /** Begins a group: shows the sender. */
  head: boolean;
  runs: Run[];
  deliveries: Delivery[];
  asks: Approval[];
  pinned: boolean;
}

export type Row =
  | MessageRow
  | { kind: 'day'; key: string; at: number }
  | { kind: 'new'; key: string }
  | { kind: 'pending'; key: string; item: Pending; head: boolean };

const GROUP_MS = 5 * 60_000;
const NONE: never[] = [];

export function isGrouped(before: Message | undefined, message: Message): boolean {
  return (
    before !== undefined &&
    before.sender_id === message.sender_id &&
    before.type === message.type &&
    message.created_at - before.created_at < GROUP_MS &&
    isSameDay(before.created_at, message.created_at)
  );
}

/** Makes rows for one list; keep one per list, it remembers what it made. */
export class RowMaker {
  private last = new Map<string, Row>();

  /** Rows of `messages`; `before` is the one above the first. `newAfter` is the position behind which everything is new. */
  rows(
    data: Data,
    channel: string,
    messages: Message[],
    options: { before?: Message; newAfter?: number; pending?: Pending[]; days?: boolean; now: number },
  ): Row[] {
    const runs = runsByTrigger(data, channel);
    const deliveries = deliveriesByMessage(data, channel);
    const asks = asksByRun(data, channel, options.now);
    const pins = data.pins.get(channel);
    const made = new Map<string, Row>();
    const rows: Row[] = [];
    const put = (row: Row): void => {
      // What was fetched may hold a message whose sending has not been answered yet: it is shown once.
      if (made.has(row.key)) return;
      const kept = this.last.get(row.key);
      const same = kept && isSame(kept, row) ? kept : row;
      made.set(row.key, same);
      rows.push(same);
    };
    let before = options.before;
    let lineShown = options.newAfter === undefined;
    for (const message of messages) {
      const isNewDay = options.days !== false && (!before || !isSameDay(before.created_at, message.created_at));
      if (isNewDay) put({ kind: 'day', key: `day-${new Date(message.created_at).toDateString()}`, at: new Date(message.created_at).setHours(0, 0, 0, 0) });
      const isFirstNew = !lineShown && message.seq > options.newAfter! && message.sender_id !== data.me;
      if (isFirstNew) {
        put({ kind: 'new', key: 'new' });
        lineShown = true;
      }
      const own = runs.get(message.id) ?? NONE;
      put({
        kind: 'message',
        key: clientIdOf(message) ?? message.id,
        message,
        head: isNewDay || isFirstNew || !isGrouped(before, message) || hadMore(before, runs),
        runs: own,
        deliveries: deliveries.get(message.id) ?? NONE,
        asks: own.length ? own.flatMap((run) => asks.get(run.id) ?? NONE) : NONE,
        pinned: pins?.has(message.id) ?? false,
      });
      before = message;
    }
    for (const item of options.pending ?? []) {
      const head = !before || before.sender_id !== data.me || item.created_at - before.created_at > GROUP_MS;
      put({ kind: 'pending', key: item.key, item, head: rows.at(-1)?.kind === 'pending' ? false : head });
    }
    this.last = made;
    return rows;
  }
}

/** Something stands under the message above, so the next one names its sender again. */
function hadMore(before: Message | undefined, runs: Map<string, Run[]>): boolean {
  return before !== undefined && (before.reply_count > 0 || runs.has(before.id));
}

function asksByRun(data: Data, channel: string, now: number): Map<string, Approval[]> {
  const found = new Map<string, Approval[]>();
  for (const approval of data.approvals.values()) {
    if (!approval.run_id || approval.channel_id !== channel || !isPending(approval, now)) continue;
    const list = found.get(approval.run_id);
    if (list) list.push(approval);
    else found.set(approval.run_id, [approval]);
  }
  return found;
}

function isSame(a: Row, b: Row): boolean {
  if (a.kind === 'message' && b.kind === 'message') {
    return (
      a.message === b.message &&
      a.head === b.head &&
      a.pinned === b.pinned &&
      isSameList(a.runs, b.runs) &&
      isSameList(a.deliveries, b.deliveries) &&
      isSameList(a.asks, b.asks)
    );
  }
  if (a.kind === 'pending' && b.kind === 'pending') return a.item === b.item && a.head === b.head;
  return a.kind === b.kind;
}

const isSameList = (a: unknown[], b: unknown[]): boolean => a.length === b.length && a.every((one, at) => one === b[at]);
