/** The connection to the hub over time: made, kept, made again. A request is repeated under its own id until it is answered. */
import { askedPauseMs, isTemporary, pauseMs, spreadMs } from './backoff.js';
import { End } from './end.js';
import { Refused, Stopped } from './errors.js';
import { uuid, type Outside, type Socket } from './outside.js';

export interface Frame {
  type: string;
  reply_to?: string;
  data: Record<string, unknown>;
}

export interface LinkOptions {
  /** `ws://…/ws`. */
  url: string;
  key: string;
  /** The data of `agent.hello`, said after every log-in. */
  hello: object;
  firstPauseMs: number;
  outside: Outside;
  log(sentence: string): void;
  onFrame(frame: Frame): void;
  /** Logged in and greeted: what was open is being sent again. */
  onReady(): void;
}

interface Request {
  text: string;
  /** How often it went out. */
  sent: number;
  resolve(data: Record<string, unknown>): void;
  reject(error: Error): void;
}

/** The largest frame that a hub reads; a larger one would end the connection, again and again. */
const MAX_FRAME_BYTES = 65_536;
/** The hub's own pings cannot be seen: after this silence it is asked for a sign of life. */
const SILENCE_MS = 25_000;
const ANSWER_MS = 10_000;

export class Link {
  private readonly requests = new Map<string, Request>();
  readonly end = new End();
  private socket: Socket | null = null;
  private ready = false;
  private lifeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: LinkOptions) {}

  /** Connects until [`stop`]; fails when the hub refuses the key. */
  async run(): Promise<void> {
    for (let attempt = 0; !this.end.reached; attempt += 1) {
      const { wasReady, why, refused } = await this.connect();
      if (refused !== undefined) throw this.giveUp(refused);
      if (this.end.reached) break;
      if (wasReady) attempt = 0;
      const pause = pauseMs(attempt, this.options.outside.chance(), this.options.firstPauseMs);
      this.options.log(`the connection to the hub is lost${why}; again in ${(pause / 1_000).toFixed(1)} s`);
      await this.end.sleep(pause);
    }
    this.fail(new Stopped('the agent was stopped'));
  }

  stop(): void {
    this.end.reach();
    this.socket?.close();
  }

  /** Asks until the hub answers: after a lost connection, and after a pause where it says that it is too much now. */
  request(type: string, data: object): Promise<Record<string, unknown>> {
    const id = uuid();
    const text = envelope(id, type, data);
    return new Promise((resolve, reject) => {
      if (this.end.reached) return reject(new Stopped('the agent was stopped'));
      if (new TextEncoder().encode(text).length > MAX_FRAME_BYTES) {
        return reject(new Refused(`\`${type}\` is too large for the hub (max ${MAX_FRAME_BYTES} bytes)`, 'TOO_LARGE'));
      }
      const request = { text, sent: 0, resolve, reject };
      this.requests.set(id, request);
      this.put(request);
    });
  }

  /** Says what may get lost. */
  tell(type: string, data: object): void {
    if (this.ready) this.socket?.send(envelope(uuid(), type, data));
  }

  private put(request: Request): void {
    if (!this.ready) return;
    request.sent += 1;
    this.socket?.send(request.text);
  }

  /** One connection from its beginning to its end. */
  private async connect(): Promise<{ wasReady: boolean; why: string; refused?: string }> {
    const socket = await Promise.resolve(this.options.outside.open(this.options.url)).catch(() => null);
    if (!socket) return { wasReady: false, why: '' };
    return new Promise((done) => {
      let wasReady = false;
      let refused: string | undefined;
      this.socket = socket;
      const over = (why: string): void => {
        if (this.socket !== socket) return;
        this.socket = null;
        this.ready = false;
        clearTimeout(this.lifeTimer);
        socket.close();
        done({ wasReady, why, ...(refused === undefined ? {} : { refused }) });
      };
      socket.onopen = () => socket.send(envelope('login', 'auth.login', { token: this.options.key, frames: 'plain' }));
      socket.onerror = () => {};
      socket.onclose = ({ reason }) => over(reason ? ` (${reason})` : '');
      socket.onmessage = ({ data }) => {
        if (this.socket !== socket) return;
        this.watch(over);
        const frame = parsed(data);
        if (!frame) return;
        if (frame.type === 'auth.success') socket.send(envelope('hello', 'agent.hello', this.options.hello));
        else if (frame.type === 'auth.fail' && isForGood(frame)) over(((refused = sentence(frame)), ''));
        else if (frame.reply_to === 'hello') {
          if (frame.type === 'error' && isTemporary(String(frame.data['code']))) return over(` (${sentence(frame)})`);
          if (frame.type === 'error') return over(((refused = sentence(frame)), ''));
          wasReady = true;
          this.greeted();
        } else this.receive(frame);
      };
      this.watch(over);
      if (this.end.reached) over('');
    });
  }

  private greeted(): void {
    this.ready = true;
    for (const request of this.requests.values()) this.put(request);
    this.options.onReady();
  }

  private receive(frame: Frame): void {
    const request = frame.reply_to === undefined ? undefined : this.requests.get(frame.reply_to);
    if (!request || frame.reply_to === undefined) return this.options.onFrame(frame);
    const code = String(frame.data['code'] ?? '');
    if (frame.type === 'error' && isTemporary(code)) return void this.again(request, sentence(frame));
    this.requests.delete(frame.reply_to);
    if (frame.type === 'error') request.reject(new Refused(sentence(frame), code, request.sent > 1));
    else request.resolve(frame.data);
  }

  /** The hub has too much to do: nothing was changed, so it is asked once more. */
  private async again(request: Request, why: string): Promise<void> {
    const chance = this.options.outside.chance();
    const asked = askedPauseMs(why);
    const pause = asked === undefined ? pauseMs(0, chance, this.options.firstPauseMs) : spreadMs(asked, chance);
    this.options.log(`${why} (the agent waits and asks again)`);
    request.sent -= 1;
    await this.end.sleep(pause);
    this.put(request);
  }

  private watch(over: (why: string) => void): void {
    clearTimeout(this.lifeTimer);
    this.lifeTimer = setTimeout(() => {
      if (!this.ready) return over(' (the hub does not answer)');
      this.tell('inbox.poll', { limit: 1 });
      this.lifeTimer = setTimeout(() => over(' (the hub fell silent)'), ANSWER_MS);
    }, SILENCE_MS);
  }

  private giveUp(why: string): Stopped {
    const error = new Stopped(
      `the hub refuses the key: ${why}\nhint: it was replaced, or the agent or its workspace was deleted; make a key under "Agents"`,
    );
    this.end.reach();
    this.fail(error);
    return error;
  }

  private fail(error: Error): void {
    for (const request of this.requests.values()) request.reject(error);
    this.requests.clear();
  }
}

function envelope(id: string, type: string, data: object): string {
  return JSON.stringify({ v: 1, id, type, ts: Date.now(), data });
}

function parsed(data: unknown): Frame | null {
  try {
    const frame = JSON.parse(String(data)) as Partial<Frame> | null;
    return typeof frame?.type === 'string' ? { ...frame, type: frame.type, data: frame.data ?? {} } : null;
  } catch {
    return null;
  }
}

function sentence(frame: Frame): string {
  return String(frame.data['message'] ?? frame.data['error'] ?? 'refused');
}

/** A log-in that came too late, or one of too many, is no refusal of the key. */
function isForGood(frame: Frame): boolean {
  const said = sentence(frame);
  return said !== 'auth timeout' && said !== 'auth error' && askedPauseMs(said) === undefined;
}
