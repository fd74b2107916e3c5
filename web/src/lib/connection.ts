/** One Lark connection that comes back by itself. Knows nothing of tabs or of the DOM, so a worker can hold it. */
import type { Frame } from './frame';

export type LinkState =
  /** Nobody is logged in. */
  | 'idle'
  | 'connecting'
  | 'online'
  /** Waiting for the next attempt, at `retryAt`. */
  | 'waiting'
  /** The hub does not know the token any more. */
  | 'refused';

export interface Link {
  state: LinkState;
  retryAt: number;
  /** Counts the successful log-ins: a change means that something may have been missed. */
  epoch: number;
}

export interface SocketLike {
  readyState: number;
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onerror: (() => void) | null;
}

export interface Outside {
  open(url: string): SocketLike;
  now(): number;
  random(): number;
  after(ms: number, run: () => void): unknown;
  cancel(timer: unknown): void;
}

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 15_000;
/** The hub's own pings are invisible to a page: after this silence it asks for a sign of life. */
const SILENCE_MS = 25_000;
const ANSWER_MS = 10_000;

export const browser: Outside = {
  open: (url) => new WebSocket(url) as unknown as SocketLike,
  now: () => Date.now(),
  random: () => Math.random(),
  after: (ms, run) => setTimeout(run, ms),
  cancel: (timer) => clearTimeout(timer as number),
};

export class Connection {
  private socket: SocketLike | null = null;
  private token = '';
  private attempts = 0;
  private retryTimer: unknown = null;
  private lifeTimer: unknown = null;
  link: Link = { state: 'idle', retryAt: 0, epoch: 0 };

  constructor(
    private readonly url: string,
    private readonly onLink: (link: Link) => void,
    private readonly onFrame: (frame: Frame) => void,
    private readonly outside: Outside = browser,
  ) {}

  /** Connects as the owner of this token; the same token again changes nothing while the link is alive. */
  start(token: string): void {
    if (token === this.token && this.link.state !== 'refused' && this.link.state !== 'idle') return;
    this.drop();
    this.token = token;
    this.attempts = 0;
    this.connect();
  }

  /** A fresh token of the same member: for the next log-in, this one goes on. */
  renew(token: string): void {
    if (this.token) this.token = token;
  }

  stop(): void {
    this.drop();
    this.token = '';
    this.set('idle');
  }

  retryNow(): void {
    if (this.link.state === 'waiting') this.connect();
  }

  /** False when there is no link; the caller keeps what it wanted to say. */
  send(frame: object): boolean {
    if (this.link.state !== 'online' || !this.socket) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  private connect(): void {
    this.outside.cancel(this.retryTimer);
    this.set('connecting');
    const socket = this.outside.open(this.url);
    this.socket = socket;
    socket.onopen = () => {
      socket.send(JSON.stringify({ v: 1, id: 'login', type: 'auth.login', ts: this.outside.now(), data: { token: this.token, frames: 'plain' } }));
      this.watch();
    };
    socket.onmessage = (event) => {
      if (socket !== this.socket || typeof event.data !== 'string') return;
      this.receive(event.data);
      if (socket === this.socket) this.watch();
    };
    socket.onerror = () => {};
    socket.onclose = () => {
      if (socket !== this.socket) return;
      this.socket = null;
      this.outside.cancel(this.lifeTimer);
      if (this.link.state !== 'refused') this.wait();
    };
    // A connection that never opens counts as silent.
    this.watch();
  }

  private receive(text: string): void {
    let frame: Frame;
    try {
      frame = JSON.parse(text) as Frame;
    } catch {
      return;
    }
    if (frame.type === 'auth.success') {
      this.attempts = 0;
      this.link = { ...this.link, epoch: this.link.epoch + 1 };
      this.set('online');
    } else if (frame.type === 'auth.fail') {
      this.set('refused');
      this.drop();
      return;
    }
    this.onFrame(frame);
  }

  private wait(): void {
    const span = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.attempts);
    const pause = span / 2 + (span / 2) * this.outside.random();
    this.attempts += 1;
    this.link = { ...this.link, retryAt: this.outside.now() + pause };
    this.set('waiting');
    this.retryTimer = this.outside.after(pause, () => this.connect());
  }

  private watch(): void {
    this.outside.cancel(this.lifeTimer);
    this.lifeTimer = this.outside.after(this.link.state === 'online' ? SILENCE_MS : ANSWER_MS, () => {
      if (!this.send({ v: 1, id: 'alive', type: 'inbox.poll', ts: this.outside.now(), data: { limit: 1 } })) {
        this.lost();
        return;
      }
      this.lifeTimer = this.outside.after(ANSWER_MS, () => this.lost());
    });
  }

  /** The network went away without a word. */
  private lost(): void {
    const socket = this.socket;
    this.socket = null;
    if (socket) {
      socket.onclose = null;
      socket.close();
    }
    this.wait();
  }

  private drop(): void {
    this.outside.cancel(this.retryTimer);
    this.outside.cancel(this.lifeTimer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  private set(state: LinkState): void {
    this.link = { ...this.link, state };
    this.onLink(this.link);
  }
}
