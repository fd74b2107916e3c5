/** The tab's side of the Lark connection: shared with the other tabs where the browser can, its own where it cannot. */
import { Connection, type Link } from './connection';
import type { Frame, Json } from './frame';
import { uuid } from './uuid';

export type ToWorker =
  | { kind: 'start'; token: string }
  | { kind: 'renew'; token: string }
  | { kind: 'send'; frame: object }
  | { kind: 'retry' }
  | { kind: 'stop' }
  | { kind: 'bye' };

export type FromWorker = { kind: 'link'; link: Link } | { kind: 'frame'; frame: Frame };

export interface SocketEvents {
  link(link: Link): void;
  frame(frame: Frame): void;
}

interface Waiting {
  resolve(frame: Frame): void;
  reject(error: Error): void;
}

const REPLY_MS = 10_000;

export class LarkSocket {
  link: Link = { state: 'idle', retryAt: 0, epoch: 0 };
  private say: (message: ToWorker) => void = () => {};
  private readonly waiting = new Map<string, Waiting>();
  private token = '';

  constructor(private readonly events: SocketEvents) {}

  /** Chooses the shared worker or a connection of this tab, once. */
  open(): void {
    if (typeof SharedWorker === 'function') {
      try {
        this.openShared();
        return;
      } catch {
        // Refused by the browser (private windows of some): a connection of our own does as well.
      }
    }
    this.openOwn();
  }

  private openShared(): void {
    const worker = new SharedWorker(new URL('./socket-worker.ts', import.meta.url), { type: 'module', name: 'folkmoot' });
    worker.port.onmessage = (event: MessageEvent<FromWorker>) => this.hear(event.data);
    worker.onerror = () => {
      this.openOwn();
      if (this.token) this.say({ kind: 'start', token: this.token });
    };
    this.say = (message) => worker.port.postMessage(message);
    addEventListener('pagehide', () => this.say({ kind: 'bye' }));
    addEventListener('pageshow', (event) => event.persisted && this.token && this.say({ kind: 'start', token: this.token }));
  }

  private openOwn(): void {
    const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`;
    const own = new Connection(
      url,
      (link) => this.hear({ kind: 'link', link }),
      (frame) => this.hear({ kind: 'frame', frame }),
    );
    this.say = (message) => {
      if (message.kind === 'start') own.start(message.token);
      else if (message.kind === 'renew') own.renew(message.token);
      else if (message.kind === 'send') own.send(message.frame);
      else if (message.kind === 'retry') own.retryNow();
      else own.stop();
    };
  }

  start(token: string): void {
    this.token = token;
    this.say({ kind: 'start', token });
  }

  renew(token: string): void {
    this.token = token;
    this.say({ kind: 'renew', token });
  }

  stop(): void {
    this.token = '';
    this.say({ kind: 'stop' });
  }

  retryNow(): void {
    this.say({ kind: 'retry' });
  }

  /** Says something without waiting for an answer; typing and presence may get lost. */
  tell(type: string, data: Json): void {
    if (this.link.state === 'online') this.say({ kind: 'send', frame: envelope(type, data) });
  }

  /** Asks and waits for the frame that answers; an `error` frame rejects. */
  ask(type: string, data: Json): Promise<Frame> {
    const frame = envelope(type, data);
    return new Promise((resolve, reject) => {
      if (this.link.state !== 'online') {
        reject(new Error('There is no connection to the hub.'));
        return;
      }
      const timer = setTimeout(() => this.waiting.delete(frame.id) && reject(new Error('The hub did not answer.')), REPLY_MS);
      this.waiting.set(frame.id, {
        resolve: (answer) => (clearTimeout(timer), resolve(answer)),
        reject: (error) => (clearTimeout(timer), reject(error)),
      });
      this.say({ kind: 'send', frame });
    });
  }

  private hear(message: FromWorker): void {
    if (message.kind === 'link') {
      this.link = message.link;
      this.events.link(message.link);
      return;
    }
    const { frame } = message;
    if (frame.reply_to) {
      const asker = this.waiting.get(frame.reply_to);
      this.waiting.delete(frame.reply_to);
      if (frame.type === 'error') asker?.reject(new Error(String((frame.data as Json).error ?? 'refused')));
      else asker?.resolve(frame);
    }
    this.events.frame(frame);
  }
}

export const envelope = (type: string, data: Json) => ({ v: 1, id: uuid(), type, ts: Date.now(), data });
