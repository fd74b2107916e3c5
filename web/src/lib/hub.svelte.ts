/** The one object that holds the page together: who is signed in, the data, the connection, and how both are kept level. */
import * as api from './api';
import { ApiError } from './api';
import type { Link } from './connection';
import { touch, touchNow } from './live.svelte';
import { whenIdle } from './paint';
import { Outbox } from './outbox';
import { LarkSocket } from './socket';
import { keep, kept } from './storage';
import { countReply, putAction, putApproval, putDelivery, putRun } from './store/apply';
import { Data } from './store/data';
import { clientIdOf, seenNotices, stopsWith } from './store/select';
import { Sync } from './store/sync';
import type { Fetched } from './store/timeline';
import type { Frame, Json } from './frame';
import type { Channel, Decision, Member, Message, Run, Session, Workspace } from './types';

const PAGE = 80;
/** The first look at a channel: more than a screen shows, and what `public/early.js` asks for. */
const FIRST_PAGE = 40;
const RENEW_AFTER_MS = 6 * 3600 * 1000;
const RECOUNT_MS = 2000;
const NO_LINK_MS = 2000;
const RENEW_CHECK_MS = 30 * 60 * 1000;

/** A list that cannot be had now is empty; the next look brings it. */
const quiet = <T>(wanted: Promise<T[]>): Promise<T[]> => wanted.catch(() => []);

type Listener = (data: Json, frame: Frame) => void;

class Hub {
  session = $state.raw<Session | null>(kept<Session>('session'));
  link = $state.raw<Link>({ state: 'idle', retryAt: 0, epoch: 0 });
  /** The hub no longer knows our token: the page stays as it is and asks for the password. */
  ended = $state(false);
  /** Channels and members are there. */
  ready = $state(false);
  /** Why the first load failed, if it did. */
  problem = $state('');
  /** When the connection went away; 0 while it is there. */
  lostAt = $state(0);
  data = new Data();
  private sync = new Sync(this.data);
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly resuming = new Set<string>();
  private readonly loading = new Map<string, Promise<void>>();
  private readonly recounts = new Set<string>();
  private caughtUp = 0;
  private epoch = 0;

  /** Per channel: the position somebody reads at, when that is not the end. */
  readonly readingAt = new Map<string, number>();

  readonly socket = new LarkSocket({ link: (link) => this.onLink(link), frame: (frame) => this.onFrame(frame) });

  readonly outbox = new Outbox({
    send: (channel, body, key) => api.messages.send(channel, body, key),
    stored: (message) => this.own(message),
    changed: (channel) => touchNow(`outbox:${channel}`, 'outbox'),
    now: () => Date.now(),
    after: (ms, run) => setTimeout(run, ms),
  });

  get ws(): string {
    return this.session?.workspace_id ?? '';
  }

  get me(): string {
    return this.session?.member_id ?? '';
  }

  /** Call once, at the start of the page. */
  open(): void {
    this.socket.open();
    addEventListener('online', () => this.retry());
    document.addEventListener('visibilitychange', () => !document.hidden && this.retry());
    addEventListener('storage', (event) => {
      if (event.key !== 'folkmoot.session') return;
      const other = kept<Session>('session');
      if (!other || (this.session && other.member_id !== this.session.member_id)) location.reload();
      else if (this.session && !this.ended) {
        // Another tab renewed the token.
        this.session = other;
        api.useToken(other.token);
        this.socket.renew(other.token);
      } else this.signIn(other);
    });
    setInterval(() => this.session && !this.ended && void this.renew(), RENEW_CHECK_MS);
    if (this.session) this.resumeSession(this.session);
  }

  /** The page was opened with a session from before: its age counts on. */
  private resumeSession(session: Session): void {
    const since = kept<number>('signed_in_at');
    this.signIn(session);
    if (since) keep('signed_in_at', since);
  }

  retry(): void {
    this.socket.retryNow();
    this.outbox.resume();
  }

  /** Somebody signed in, here or in another tab, for the first time or again after the session ended. */
  signIn(session: Session): void {
    const isSame = this.ready && session.member_id === this.data.me;
    keep('session', session);
    keep('signed_in_at', Date.now());
    this.session = session;
    this.ended = false;
    api.useToken(session.token, () => (this.ended = true));
    if (!isSame) {
      this.data = new Data();
      this.data.me = session.member_id;
      this.sync = new Sync(this.data);
      void this.start();
    } else {
      this.socket.start(session.token);
    }
    this.outbox.open(session.member_id);
  }

  async signOut(): Promise<void> {
    await api.auth.logout().catch(() => {});
    this.socket.stop();
    keep('session', null);
    location.assign('/signin');
  }

  async start(): Promise<void> {
    this.problem = '';
    try {
      await this.list();
      this.ready = true;
      touchNow('members', 'channels', 'workspace');
      // What was fetched is shown first.
      whenIdle(() => this.session && this.socket.start(this.session.token));
      // The rest is fetched when the connection stands, so that nothing falls between; without one, all the same.
      setTimeout(() => this.link.state !== 'online' && void this.refresh(), NO_LINK_MS);
      void this.renew();
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      if (error instanceof ApiError && error.isPassing) setTimeout(() => void this.start(), 3000);
    }
  }

  /** Members and channels, which everything else leans on. */
  private async list(): Promise<void> {
    const { data, ws } = this;
    const tellAgain = this.sync.listing();
    try {
      const lists = [api.members.list(ws), api.channels.list(ws), api.channels.directs(), api.workspaces.get(ws)] as const;
      const listed = await Promise.all(lists);
      if (data === this.data) this.putLists(...listed);
    } finally {
      tellAgain(Date.now());
      touch('members', 'channels', 'workspace');
    }
  }

  /** Members as the hub shows them to the reader, with what the reader may do: what is told to everybody does not say that. */
  async loadMembers(): Promise<void> {
    const { data } = this;
    const tellAgain = this.sync.listing();
    const members = await api.members.list(this.ws).catch(() => []);
    if (data === this.data) for (const member of members) data.members.set(member.id, member);
    tellAgain(Date.now());
    touch('members');
  }

  private putLists(members: Member[], channels: Channel[], directs: Channel[], workspace: Workspace): void {
    const { data } = this;
    data.workspace = workspace;
    const listed = new Set(members.map((member) => member.id));
    for (const id of [...data.members.keys()]) if (!listed.has(id)) data.members.delete(id);
    for (const member of members) data.members.set(member.id, member);
    const all = [...channels, ...directs];
    const there = new Set(all.map((channel) => channel.id));
    for (const id of [...data.channels.keys()]) if (!there.has(id)) data.channels.delete(id);
    for (const channel of all) this.putChannel(channel);
  }

  putChannel(channel: Channel): void {
    const known = this.data.channels.get(channel.id);
    const position = this.data.positions.get(channel.id);
    // Counts are taken over only when nothing happened between: what is still on its way counts itself.
    const own = known && position !== undefined && position !== channel.seq ? { unread_count: known.unread_count, read_seq: known.read_seq } : {};
    this.data.channels.set(channel.id, { ...channel, ...own });
    this.sync.listed(channel.id, channel.seq);
    touch('channels', `channel:${channel.id}`);
  }

  /** What is only pushed once is fetched on every load and after every absence. */
  async refresh(): Promise<void> {
    const { data, ws } = this;
    const pending = [...data.approvals.values()].filter((it) => it.status === 'pending').map((it) => it.id);
    const [approvals, notices] = await Promise.all([quiet(api.approvals.list(ws, { limit: 100 })), quiet(api.notifications.list({ limit: 100 })), this.loadOpenRuns()]);
    for (const approval of approvals) putApproval(data, approval);
    for (const notice of notices) data.notifications.set(notice.id, notice);
    touch('approvals', 'notifications');
    const seen = new Set(approvals.map((it) => it.id));
    await Promise.all(pending.filter((id) => !seen.has(id)).map((id) => this.loadApproval(id).catch(() => {})));
  }

  /** Who is at work now; whoever was and is not in the answer is looked up. */
  async loadOpenRuns(): Promise<void> {
    const { data, ws } = this;
    const known = [...data.runs.values()].filter((run) => !run.ended_at).map((run) => run.id);
    const runs = (await Promise.all([quiet(api.workspaces.runs(ws, 'running')), quiet(api.workspaces.runs(ws, 'waiting'))])).flat();
    for (const run of runs) putRun(data, run);
    touch('runs');
    const seen = new Set(runs.map((run) => run.id));
    await Promise.all(known.filter((id) => !seen.has(id)).map((id) => this.loadRun(id).catch(() => {})));
  }

  /** What stops with these agents, in words. Asked of the hub: what the page knows may not have come yet. */
  async whatStopsWith(agents: string[]): Promise<string> {
    await this.loadOpenRuns();
    return stopsWith(this.data, agents);
  }

  /** A fresh token before the old one ends, for those who are here every day. */
  private async renew(): Promise<void> {
    const since = kept<number>('signed_in_at') ?? 0;
    if (Date.now() - since < RENEW_AFTER_MS) return;
    const fresh = await api.auth.renew().catch(() => null);
    if (fresh?.token) this.renewed(fresh.token);
  }

  /** The hub gave this session a new token. */
  renewed(token: string): void {
    if (!this.session) return;
    this.session = { ...this.session, token };
    keep('session', this.session);
    keep('signed_in_at', Date.now());
    api.useToken(token);
    this.socket.renew(token);
  }

  on(type: string, listener: Listener): () => void {
    if (!this.listeners.has(type)) this.listeners.set(type, new Set());
    this.listeners.get(type)!.add(listener);
    return () => this.listeners.get(type)?.delete(listener);
  }

  private onLink(link: Link): void {
    this.link = link;
    if (link.state === 'refused') this.ended = true;
    if (link.state === 'online') {
      this.lostAt = 0;
      if (link.epoch !== this.epoch) {
        this.epoch = link.epoch;
        void this.catchUp();
      }
    } else if (!this.lostAt && this.ready) this.lostAt = Date.now();
  }

  private async catchUp(): Promise<void> {
    this.caughtUp = 0;
    const positions = this.sync.positions();
    this.resuming.clear();
    if (Object.keys(positions).length) this.socket.tell('sync.resume', { positions });
    this.outbox.resume();
    // Also right after the page was opened: who came between the first list and the connection is in neither.
    await this.list().catch(() => {});
    await this.refresh();
    for (const [channel, timeline] of this.data.timelines) if (timeline.loaded) void this.loadWork(channel);
    // How far a run was in the meantime has no position of its own.
    for (const run of this.data.runs.values()) {
      if (!run.ended_at && this.data.timelines.get(run.channel_id)?.loaded) void this.loadThread(run.channel_id, run.thread_id).catch(() => {});
    }
    if (this.caughtUp > 5) this.tellListeners('page.caught_up', { count: this.caughtUp } as Json);
  }

  private onFrame(frame: Frame): void {
    const now = Date.now();
    const role = this.data.members.get(this.me)?.role;
    const { topics, gap, reload } = this.sync.receive(frame, now);
    if (topics.length) touch(...topics);
    if (gap) this.fill(gap);
    if (frame.type === 'sync.done' || frame.type === 'sync.reload') this.resuming.delete(String(frame.data.channel_id));
    if (reload) this.reload(reload);
    if (frame.type === 'sync.lagged') this.lagged(frame.data);
    if (frame.data?.thread_id && (frame.type === 'message.new' || frame.type === 'message.delete')) this.recountSoon(frame.data);
    if (frame.type === 'message.new') this.onMessage((frame.data.message ?? frame.data) as Message);
    if (frame.type === 'channel.joined' && frame.data.member_id === this.me) void this.fetchChannel(String(frame.data.channel_id));
    if (frame.type === 'approval.request' && frame.data.agent_id) void this.loadApproval(String(frame.data.id)).catch(() => {});
    if (role && role !== this.data.members.get(this.me)?.role) void this.rightsChanged();
    else if ((frame.type === 'channel.joined' || frame.type === 'channel.left') && frame.data.member_id === this.me) void this.refresh();
    this.tellListeners(frame.type, frame.data, frame);
  }

  /** What the reader may do is the hub's to say, and it is asked again when the reader's role changed. */
  private async rightsChanged(): Promise<void> {
    await this.list().catch(() => {});
    await this.refresh();
  }

  /** The count of replies is the hub's: asked for once a thread is quiet, unless the event told it. */
  private recountSoon(told: Json): void {
    const root = String(told.thread_id);
    const channel = String(told.channel_id);
    if (typeof told.thread_reply_count === 'number' || this.recounts.has(root) || !this.data.message(channel, root)) return;
    this.recounts.add(root);
    setTimeout(() => {
      this.recounts.delete(root);
      api.messages.get(root).then(
        (message) => {
          this.data.timeline(channel).apply({ kind: 'count', id: root, replies: message.reply_count });
          touch(`channel:${channel}`);
        },
        () => {},
      );
    }, RECOUNT_MS);
  }

  private tellListeners(type: string, data: Json, frame: Frame = { type, data }): void {
    for (const listener of this.listeners.get(type) ?? []) listener(data, frame);
  }

  private onMessage(message: Message): void {
    this.caughtUp += 1;
    const key = clientIdOf(message);
    if (key && message.sender_id === this.me) this.outbox.arrived(key);
    if (!this.data.channels.has(message.channel_id)) void this.fetchChannel(message.channel_id);
  }

  async fetchChannel(id: string): Promise<Channel | null> {
    const channel = await api.channels.get(this.ws, id).catch(() => null);
    if (channel) this.putChannel(channel);
    return channel;
  }

  private fill(channel: string): void {
    if (this.resuming.has(channel)) return;
    this.resuming.add(channel);
    this.socket.tell('sync.resume', { channel_id: channel, after_seq: this.data.positions.get(channel) ?? 0 });
  }

  private lagged(told: Json): void {
    const positions = Object.fromEntries((told.channels as { channel_id: string }[]).map((it) => [it.channel_id, this.data.positions.get(it.channel_id) ?? 0]));
    this.socket.tell('sync.resume', { positions });
    void this.refresh();
  }

  private reload(channel: string): void {
    const timeline = this.data.timelines.get(channel);
    if (!timeline?.loaded) return;
    const place = this.readingAt.get(channel);
    void (place === undefined ? this.loadNewest(channel) : this.loadAround(channel, place));
    for (const root of [...timeline.wholeThreads]) void this.loadThread(channel, root);
  }

  /** A message of our own that the hub stored; the event may have come before or comes later. */
  private own(message: Message): void {
    const timeline = this.data.timeline(message.channel_id);
    const isNew = !timeline.messages.has(message.id);
    timeline.apply({ kind: 'put', message });
    if (isNew && timeline.messages.has(message.id)) countReply(this.data, message.channel_id, message.thread_id, undefined, 1);
    touchNow(`channel:${message.channel_id}`, ...(message.thread_id ? [`thread:${message.thread_id}`] : []));
  }

  private once(key: string, run: () => Promise<void>): Promise<void> {
    const under = this.loading.get(key);
    if (under) return under;
    const promise = run().finally(() => this.loading.delete(key));
    this.loading.set(key, promise);
    return promise;
  }

  /** One stretch of a channel at a time; what is told meanwhile comes on top of it. */
  private stretch(channel: string, fetched: () => Promise<Fetched>): Promise<void> {
    return this.once(`page:${channel}`, async () => {
      const timeline = this.data.timeline(channel);
      timeline.beginFetch();
      try {
        timeline.endFetch(await fetched());
      } catch (error) {
        timeline.endFetch();
        throw error;
      } finally {
        touch(`channel:${channel}`);
      }
    });
  }

  private page(channel: string, mode: 'newest' | 'older' | 'newer', query: api.PageOf): Promise<void> {
    return this.stretch(channel, async () => {
      const limit = mode === 'newest' ? FIRST_PAGE : PAGE;
      const messages = await api.messages.page(channel, { limit, replies: true, ...query });
      const whole = messages.length < limit;
      return { messages, mode, start: whole, end: mode === 'newest' || whole };
    });
  }

  loadNewest(channel: string): Promise<void> {
    return this.page(channel, 'newest', {});
  }

  loadOlder(channel: string): Promise<void> {
    const { floor, reachedStart } = this.data.timeline(channel);
    return reachedStart ? Promise.resolve() : this.page(channel, 'older', { before: floor });
  }

  loadNewer(channel: string): Promise<void> {
    const { ceiling, reachedEnd } = this.data.timeline(channel);
    return reachedEnd ? Promise.resolve() : this.page(channel, 'newer', { after: ceiling });
  }

  /** A stretch with this position in its middle. */
  loadAround(channel: string, seq: number): Promise<void> {
    return this.stretch(channel, async () => {
      const [older, newer] = await Promise.all([
        api.messages.page(channel, { limit: PAGE, replies: true, before: seq + 1 }),
        api.messages.page(channel, { limit: PAGE, replies: true, after: seq }),
      ]);
      return { messages: [...newer, ...older], mode: 'around', start: older.length < PAGE, end: newer.length < PAGE };
    });
  }

  loadThread(channel: string, root: string): Promise<void> {
    return this.once(`thread:${root}`, async () => {
      const timeline = this.data.timeline(channel);
      timeline.beginFetch();
      try {
        timeline.endThreadFetch(root, await api.messages.thread(root));
      } catch (error) {
        timeline.endThreadFetch(root);
        throw error;
      } finally {
        touch(`thread:${root}`, `channel:${channel}`);
      }
    });
  }

  /** Pins, runs and deliveries of a channel that is looked at. */
  async loadWork(channel: string): Promise<void> {
    const [pins, runs, deliveries] = await Promise.all([
      quiet(api.channels.pins(channel)),
      quiet(api.channels.runs(channel, { limit: 100 })),
      quiet(api.channels.deliveries(channel, { limit: 200 })),
    ]);
    this.data.pins.set(channel, new Map(pins.map((pin) => [pin.message_id, pin])));
    for (const run of runs) putRun(this.data, run);
    for (const delivery of deliveries) putDelivery(this.data, delivery);
    touch(`pins:${channel}`, `channel:${channel}`, 'runs');
  }

  async loadRun(id: string): Promise<Run> {
    const { actions, ...run } = await api.runs.get(id, { limit: 1000 });
    putRun(this.data, run);
    for (const action of actions) putAction(this.data, id, action);
    touch('runs', `run:${id}`, `channel:${run.channel_id}`);
    return run;
  }

  loadApproval(id: string): Promise<void> {
    return this.once(`approval:${id}`, async () => touch(...putApproval(this.data, await api.approvals.get(id))));
  }

  async markRead(channel: string, seq?: number): Promise<void> {
    const state = await api.channels.read(channel, seq);
    const known = this.data.channels.get(channel);
    if (known) this.data.channels.set(channel, { ...known, read_seq: state.read_seq, unread_count: state.unread_count });
    touch('channels');
    if (seq === undefined) this.readSeen(channel, null);
  }

  /** What tells of a message that was looked at is done with it. */
  readSeen(channel: string, thread: string | null): void {
    for (const id of seenNotices(this.data, channel, thread)) void this.readNotice(id).catch(() => {});
  }

  async readNotice(id: string): Promise<void> {
    const known = this.data.notifications.get(id);
    if (known) this.data.notifications.set(id, { ...known, is_read: true });
    touchNow('notifications');
    this.data.notifications.set(id, await api.notifications.read(id));
    touch('notifications');
  }

  async decide(id: string, body: Decision): Promise<void> {
    touchNow(...putApproval(this.data, await api.approvals.decide(id, body)));
  }

  async stopRun(id: string): Promise<void> {
    const run = await api.runs.stop(id);
    if (run?.id) putRun(this.data, run);
    touch('runs', `run:${id}`);
  }

  async direct(member: string): Promise<Channel> {
    const ids = member === this.me ? [this.me] : [this.me, member];
    const channel = await api.channels.direct(this.ws, ids);
    this.putChannel(channel);
    return channel;
  }
}

export const hub = new Hub();
