/** Waiting for what somebody says next. Looked up when the wait begins and after every reconnect, so nothing said meanwhile is missed. */
import type { End } from './end.js';
import { Stopped, WaitTimeout } from './errors.js';
import type { Message } from './objects.js';
import type { Rest } from './rest.js';

/** Whose next words are waited for, and where. */
export interface Place {
  channel: string;
  /** The thread it goes on in; none in the channel itself. */
  thread: string | null;
  /** Messages of the agent's own: what is said below them is meant too. */
  own: ReadonlySet<string>;
  /** In an open channel only who asked is waited for; none where everybody is meant. */
  from: string | null;
  /** What was said up to this position is known. */
  after: number;
}

/** As much of a message as it takes to know whether it was waited for. */
type Spoken = Pick<Message, 'channel_id' | 'sender_id' | 'seq'> & { thread_id?: string };

interface Waiter {
  place: Place;
  resolve(message: Message): void;
}

/** How many messages one look goes through; `after` gives the oldest ones first. */
const PAGE = 200;

export class Waiting {
  private readonly waiters = new Set<Waiter>();

  constructor(
    private readonly rest: Rest,
    private readonly myId: () => Promise<string>,
  ) {}

  async next(place: Place, timeoutMs: number | undefined, end: End): Promise<Message> {
    const myId = await this.myId();
    return new Promise((resolve, reject) => {
      const over = (finish: () => void): void => {
        this.waiters.delete(waiter);
        clearTimeout(timer);
        takeBack();
        finish();
      };
      const waiter: Waiter = { place, resolve: (message) => over(() => resolve(message)) };
      const late = (): void => over(() => reject(new WaitTimeout(`nobody said anything within ${timeoutMs! / 1_000} s`)));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      this.waiters.add(waiter);
      const takeBack = end.on(() => over(() => reject(new Stopped('the agent was stopped'))));
      this.look(waiter, myId).catch((error: unknown) => over(() => reject(error)));
    });
  }

  /** A message came. */
  heard(message: Message, myId: string): void {
    for (const waiter of this.waiters) if (fits(waiter.place, message, myId)) waiter.resolve(message);
  }

  /** Whether one of these is what somebody waits for: a wake may come before the message, when both were missed. */
  expects(messages: readonly Spoken[], myId: string): boolean {
    return [...this.waiters].some(({ place }) => messages.some((message) => fits(place, message, myId)));
  }

  /** The connection was lost for a while. */
  async lookAgain(): Promise<void> {
    const myId = await this.myId();
    await Promise.all([...this.waiters].map((waiter) => this.look(waiter, myId)));
  }

  private async look(waiter: Waiter, myId: string): Promise<void> {
    for (let { channel, after } = waiter.place; this.waiters.has(waiter); ) {
      const path = `/v1/channels/${channel}/messages?after=${after}&replies=true&limit=${PAGE}`;
      const page = await this.rest.json<Message[]>('GET', path);
      const found = page.reverse().find((message) => fits(waiter.place, message, myId));
      if (found) return waiter.resolve(found);
      if (page.length < PAGE) return;
      after = Math.max(...page.map((message) => message.seq));
    }
  }
}

function fits(place: Place, message: Spoken, myId: string): boolean {
  if (message.channel_id !== place.channel || message.sender_id === myId || message.seq <= place.after) return false;
  const below = message.thread_id ?? null;
  if (below !== null && place.own.has(below)) return true;
  return below === place.thread && (place.from === null || place.from === message.sender_id);
}
