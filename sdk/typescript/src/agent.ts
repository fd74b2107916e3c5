/** An agent: woken by people, it answers, streams, asks and waits. No wake is lost, none is answered twice. */
import { Refused, Stopped, StreamStopped } from './errors.js';
import { Link, type Frame } from './link.js';
import type { Approval, Member, Message } from './objects.js';
import { here, type Outside } from './outside.js';
import { Rest } from './rest.js';
import { Stream } from './stream.js';
import { Waiting, type Place } from './waiting.js';
import { Wake, type WakeFrame } from './wake.js';
import { Files, Tasks } from './work.js';

export interface AgentOptions {
  /** The hub, `http://127.0.0.1:8484` for instance. */
  url: string;
  /** The agent's key, `lr_…`. */
  key: string;
  /** What the agent is for; people read it. */
  about?: string;
  capabilities?: string[];
  /** What it runs on, such as `{ type: 'llm', provider: 'anthropic', model: '…' }`. */
  runtime?: { type?: string; provider?: string; model?: string };
  /** Told what happens to the connection; on standard error unless given. */
  log?: (sentence: string) => void;
  /** The first pause before the hub is tried again; it doubles up to half a minute. */
  firstPauseMs?: number;
  outside?: Partial<Outside>;
}

export interface ReplyOptions {
  /** Below this message, instead of where it was asked. */
  thread?: string;
  /** A file that was uploaded. */
  file?: string;
  contentType?: 'text' | 'markdown';
}

/** What people decided. */
export interface Decision {
  id: string;
  approved: boolean;
  /** What whoever decided wants the agent to know. */
  note: string | null;
}

/** Works on a wake. When it fails, whoever asked is told why. */
export type Handler = (wake: Wake) => unknown;

/** What is known of a wake that was taken on. */
interface Job {
  wake: Wake;
  answered: boolean;
  stream: Stream | null;
  /** The agent's own messages about it. */
  said: Set<string>;
  /** The newest position in the channel that the handler knows of. */
  seq: number;
}

interface Question {
  settle(status: string, note: string | null): void;
}

/** Wakes and waited-for messages that are remembered, so that a repeat is known as one. */
const MAX_REMEMBERED = 10_000;

export class Agent {
  readonly tasks: Tasks;
  readonly files: Files;
  private readonly link: Link;
  private readonly rest: Rest;
  private readonly waiting: Waiting;
  private readonly log: (sentence: string) => void;
  private readonly jobs = new Map<string, Job>();
  private readonly taken = new Set<string>();
  private readonly waitedFor = new Set<string>();
  private readonly questions = new Map<string, Question>();
  private readonly running = new Set<Promise<void>>();
  private handler: Handler | null = null;
  private known: Promise<Member> | null = null;
  private myId = '';

  constructor(private readonly options: AgentOptions) {
    const outside = { ...here, ...options.outside };
    const firstPauseMs = options.firstPauseMs ?? 1_000;
    const base = options.url.replace(/^ws/, 'http').replace(/\/+$/, '');
    this.log = options.log ?? ((sentence) => console.error(sentence));
    this.link = new Link({
      url: `${base.replace(/^http/, 'ws')}/ws`,
      key: options.key,
      hello: { role_card: { system_prompt: options.about ?? '', capabilities: options.capabilities ?? [] }, runtime: options.runtime ?? { type: 'script' } },
      firstPauseMs,
      outside,
      log: this.log,
      onFrame: (frame) => this.hear(frame),
      onReady: () => void this.catchUp(),
    });
    this.rest = new Rest({ base, key: options.key, firstPauseMs, outside, end: this.link.end, log: this.log });
    const me = (): Promise<Member> => this.me();
    this.waiting = new Waiting(this.rest, async () => (await me()).id);
    this.tasks = new Tasks(this.rest, me);
    this.files = new Files(this.rest, me);
  }

  /** Who works on wakes: mentions, direct messages, replies in the agent's threads, assigned tasks. Several may be under way at once. */
  onMention(handler: Handler): this {
    this.handler = handler;
    return this;
  }

  /** Takes part until [`stop`]. Fails with [`Stopped`] when the hub refuses the key. */
  async run(): Promise<void> {
    await this.link.run();
    await Promise.all(this.running);
  }

  stop(): void {
    this.link.stop();
  }

  /** Who the agent is. */
  me(): Promise<Member> {
    this.known ??= this.rest.json<Member>('GET', '/v1/members/me').then(
      (me) => ((this.myId = me.id), me),
      (error: unknown) => ((this.known = null), Promise.reject(error)),
    );
    return this.known;
  }

  /** Answers where it was asked; the first reply settles the wake. Returns the id of the message. */
  async reply(to: Wake | Message, text: string, options: ReplyOptions = {}): Promise<string> {
    if (!(to instanceof Wake)) return this.send(to.channel_id, text, { ...(to.thread_id ? { thread: to.thread_id } : {}), ...options });
    const job = this.jobs.get(to.id);
    const thread = options.thread ?? to.threadId;
    const settles = job && !job.answered ? { delivery_id: to.id } : {};
    if (job) job.answered = true;
    try {
      const sent = await this.post(channelOf(to), text, { ...options, ...(thread ? { thread } : {}) }, settles);
      job?.said.add(sent.id);
      if (job) job.seq = Math.max(job.seq, sent.seq);
      return sent.id;
    } catch (error) {
      if (job && 'delivery_id' in settles) job.answered = false;
      throw error;
    }
  }

  /** Says something of the agent's own accord. Returns the id of the message. */
  async send(channel: string, text: string, options: ReplyOptions = {}): Promise<string> {
    return (await this.post(channel, text, options, {})).id;
  }

  /** Begins an answer that grows while people watch, in a thread below the question. */
  async stream(wake: Wake): Promise<Stream> {
    const job = this.jobs.get(wake.id);
    if (!job) throw new Error('only a wake that is being worked on can be streamed to');
    if (job.stream) return job.stream;
    const engine = this.options.runtime?.provider ?? this.options.runtime?.type ?? 'script';
    const model = this.options.runtime?.model;
    const begun = await this.link.request('run.start', { delivery_id: wake.id, engine, ...(model ? { model } : {}) });
    const run = begun['run'] as { id: string; message_id?: string };
    job.stream = new Stream(this.link, run.id);
    job.answered = true;
    if (run.message_id) job.said.add(run.message_id);
    return job.stream;
  }

  /**
   * Asks people before something is done, and waits for what they decide; nobody in 24 hours is a no. The same question of the same
   * wake is one question, also after a restart of the agent.
   */
  async ask(wake: Wake, action: string, payload: object = {}): Promise<Decision> {
    const run = this.jobs.get(wake.id)?.stream?.runId;
    const about = wake.messageIds[0];
    const asked = await this.link.request('approval.request', {
      action,
      payload,
      ...(wake.channel ? { channel_id: wake.channel.id } : {}),
      ...(wake.id ? { fingerprint: wake.id } : {}),
      ...(run ? { run_id: run } : about ? { message_id: about } : {}),
    });
    const { id, status, review_note } = asked as { id: string; status: string; review_note?: string | null };
    if (status !== 'pending') return { id, approved: status === 'approved', note: review_note ?? null };
    const decision = await this.decided(id);
    await this.link.request('approval.use', { approval_id: id }).catch(ignoreRepeat);
    return decision;
  }

  /**
   * Waits for what is said next: by anybody in the wake's thread, in a direct channel or below the agent's replies, by whoever asked in
   * an open channel. What is waited for wakes nobody a second time.
   */
  async wait(wake: Wake, { timeoutMs }: { timeoutMs?: number } = {}): Promise<Message> {
    const job = this.jobs.get(wake.id);
    const everybody = wake.threadId !== null || wake.channel?.type === 'dm';
    const known = Math.max(job?.seq ?? 0, ...wake.messages.map((message) => message.seq));
    const own = new Set([...(job?.said ?? []), ...wake.messageIds]);
    const place: Place = { channel: channelOf(wake), thread: wake.threadId, own, from: everybody ? null : wake.senderId, after: known };
    const message = await this.waiting.next(place, timeoutMs, this.link.end);
    if (job) job.seq = Math.max(job.seq, message.seq);
    remember(this.waitedFor, message.id);
    return message;
  }

  private async post(channel: string, text: string, { thread, file, contentType }: ReplyOptions, more: object): Promise<{ id: string; seq: number }> {
    const optional = { ...(thread ? { thread_id: thread } : {}), ...(file ? { file_id: file } : {}), ...(contentType ? { content_type: contentType } : {}) };
    const ack = await this.link.request('message.send', { channel_id: channel, content: text, ...optional, ...more });
    return { id: String(ack['message_id']), seq: Number(ack['seq'] ?? 0) };
  }

  private hear({ type, data }: Frame): void {
    if (type === 'agent.wake') this.take(new Wake(data as unknown as WakeFrame));
    // What is still being written has no position; what becomes of it does.
    else if (type === 'message.new' && data['seq'] !== undefined) this.waiting.heard(data as unknown as Message, this.myId);
    else if (type === 'approval.result') this.result(data as unknown as Approval);
    else if (type === 'run.stop') {
      for (const { stream } of this.jobs.values()) if (stream?.runId === data['run_id']) stream?.stop();
    }
  }

  /** Takes a wake on, once. */
  private take(wake: Wake): void {
    if (!this.handler || this.taken.has(wake.id)) return;
    if (wake.id) remember(this.taken, wake.id);
    if (this.wasWaitedFor(wake)) return void this.settle('wake.pass', { delivery_id: wake.id, why: 'it was waited for' });
    const work = this.work(wake).finally(() => this.running.delete(work));
    this.running.add(work);
  }

  /** Whether a handler has what woke the agent, or is about to get it. */
  private wasWaitedFor(wake: Wake): boolean {
    const meant = wake.messages.filter((message) => wake.messageIds.includes(message.id));
    const channel_id = wake.channel?.id ?? '';
    if (this.waiting.expects(meant.map((message) => ({ ...message, channel_id })), this.myId)) {
      void this.catchUp();
      return true;
    }
    return wake.messageIds.length > 0 && wake.messageIds.every((id) => this.waitedFor.has(id));
  }

  private async work(wake: Wake): Promise<void> {
    const job: Job = { wake, answered: false, stream: null, said: new Set(), seq: 0 };
    if (wake.id) this.jobs.set(wake.id, job);
    if (wake.channel) this.link.tell('agent.thinking', { channel_id: wake.channel.id });
    try {
      await this.handler?.(wake);
      await this.finish(job);
    } catch (error) {
      await this.finish(job, error);
    } finally {
      this.jobs.delete(wake.id);
    }
  }

  /** The handler is done: only now the hub hears what became of the wake, unless a reply has said so. */
  private async finish(job: Job, error?: unknown): Promise<void> {
    if (error instanceof Stopped) return;
    const why = error === undefined ? '' : error instanceof Error ? error.message || error.name : String(error);
    if (error !== undefined && !(error instanceof StreamStopped)) this.log(`the handler failed: ${why}`);
    try {
      if (job.stream) await job.stream.settle(error === undefined ? undefined : why);
      else if (error !== undefined && !job.answered && job.wake.id) await this.settle('wake.fail', { delivery_id: job.wake.id, why: why.slice(0, 500) || 'failed' });
      else if (error !== undefined && job.answered && job.wake.channel) await this.reply(job.wake, `I could not go on: ${why.slice(0, 500)}`);
      else if (!job.answered && job.wake.id) await this.settle('wake.pass', { delivery_id: job.wake.id });
    } catch (failure) {
      if (!(failure instanceof Stopped)) this.log(`the hub was not told what became of a wake: ${String(failure)}`);
    }
  }

  /** Says how a wake ended. One that is over already needs no saying. */
  private async settle(type: string, data: object): Promise<void> {
    await this.link.request(type, data).catch((error: unknown) => {
      if (!(error instanceof Refused || error instanceof Stopped)) throw error;
    });
  }

  /** What was decided and said while the connection was lost. */
  private async catchUp(): Promise<void> {
    try {
      await this.me();
      await Promise.all([this.waiting.lookAgain(), ...[...this.questions.keys()].map((id) => this.look(id))]);
    } catch (error) {
      if (!(error instanceof Stopped)) this.log(`what was missed could not be looked up: ${String(error)}`);
    }
  }

  private decided(id: string): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const over = (finish: () => void): void => (this.questions.delete(id), takeBack(), finish());
      const settle = (status: string, note: string | null): void => over(() => resolve({ id, approved: status === 'approved', note }));
      this.questions.set(id, { settle });
      const takeBack = this.link.end.on(() => over(() => reject(new Stopped('the agent was stopped'))));
      // It may have been decided in this very moment.
      this.look(id).catch((error: unknown) => over(() => reject(error)));
    });
  }

  private async look(id: string): Promise<void> {
    this.result(await this.rest.json<Approval>('GET', `/v1/approvals/${id}`));
  }

  private result({ id, status, review_note }: Approval): void {
    if (status !== 'pending') this.questions.get(id)?.settle(status, review_note ?? null);
  }
}

function channelOf(wake: Wake): string {
  if (wake.channel) return wake.channel.id;
  throw new Error('this wake belongs to no channel; say where with `send`');
}

/** The first of two identical requests did it. */
function ignoreRepeat(error: unknown): void {
  if (!(error instanceof Refused && error.repeated)) throw error;
}

function remember(set: Set<string>, id: string): void {
  set.add(id);
  for (const oldest of set) {
    if (set.size <= MAX_REMEMBERED) return;
    set.delete(oldest);
  }
}
