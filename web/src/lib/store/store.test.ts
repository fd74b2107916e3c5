import { describe, expect, it } from 'vitest';
import type { Frame } from '../frame';
import type { Channel, Member, Message } from '../types';
import { apply } from './apply';
import { Data } from './data';
import { FakeHub, Random } from './fake-hub';
import { Sync } from './sync';
import type { Timeline } from './timeline';

const PAGE = 12;

const channel = (hub: FakeHub, fields: Partial<Channel> = {}): Channel => ({
  id: hub.channel,
  workspace_id: 'ws_1',
  type: 'channel',
  name: 'general',
  topic: '',
  archived: false,
  created_by: 'mem_1',
  created_at: 0,
  seq: hub.seq,
  room_version: 0,
  member_ids: ['mem_1', 'mem_2'],
  member_count: 2,
  is_member: true,
  unread_count: 0,
  read_seq: hub.seq,
  notification_preference: 'all',
  ...fields,
});

/** A page in a browser: hears events late, loses some, fetches meanwhile. */
class Reader {
  readonly data = new Data();
  readonly sync = new Sync(this.data);
  private heard: number;
  private fetches: (() => void)[] = [];

  constructor(private readonly hub: FakeHub) {
    this.data.me = 'mem_1';
    this.data.channels.set(hub.channel, channel(hub));
    this.sync.listed(hub.channel, hub.seq);
    this.heard = hub.seq;
  }

  get timeline(): Timeline {
    return this.data.timeline(this.hub.channel);
  }

  private receive(frame: Frame): void {
    const { gap, reload } = this.sync.receive(frame, 0);
    expect(reload).toBeUndefined();
    if (gap) this.resume();
  }

  /** The next event arrives. */
  hear(): void {
    const frame = this.hub.events[this.heard];
    if (!frame) return;
    this.heard += 1;
    this.receive(frame);
  }

  /** The connection is away: events are lost. */
  miss(): void {
    if (this.heard < this.hub.seq) this.heard += 1;
  }

  /** The hub tells everything after our position, edits with the message as it is now. */
  resume(): void {
    const from = this.data.positions.get(this.hub.channel) ?? 0;
    for (const frame of this.hub.events.slice(from)) this.receive(frame);
    this.heard = Math.max(this.heard, this.hub.seq);
    this.receive({ type: 'sync.done', data: { channel_id: this.hub.channel, seq: this.hub.seq } });
  }

  /** A fetch begins; the hub reads now, the answer arrives when `finish` is called. */
  fetchPage(mode: 'newest' | 'older' | 'newer' | 'around', seq = 0): void {
    const { timeline, hub } = this;
    if (mode === 'older' && (!timeline.loaded || timeline.reachedStart)) return;
    if (mode === 'newer' && (!timeline.loaded || timeline.reachedEnd)) return;
    if (this.fetches.length) return;
    timeline.beginFetch();
    if (mode === 'around') {
      const older = hub.page(PAGE, { before: seq + 1 });
      const newer = hub.page(PAGE, { after: seq });
      this.fetches.push(() => timeline.endFetch({ messages: [...newer, ...older], mode, start: older.length < PAGE, end: newer.length < PAGE }));
      return;
    }
    const messages = hub.page(PAGE, mode === 'older' ? { before: timeline.floor } : mode === 'newer' ? { after: timeline.ceiling } : {});
    const whole = messages.length < PAGE;
    this.fetches.push(() => timeline.endFetch({ messages, mode, start: whole, end: mode === 'newest' || whole }));
  }

  fetchThread(root: string): void {
    const { timeline, hub } = this;
    timeline.beginFetch();
    const thread = hub.thread(root);
    this.fetches.push(() => timeline.endThreadFetch(root, thread));
  }

  finish(): void {
    this.fetches.shift()?.();
  }

  settle(): void {
    while (this.fetches.length) this.finish();
    this.resume();
  }
}

function expectSameAsFresh(reader: Reader, hub: FakeHub): void {
  const { timeline } = reader;
  const shown = timeline.order.map((id) => timeline.messages.get(id)!);
  const first = timeline.reachedStart ? 0 : timeline.floor;
  const last = timeline.reachedEnd ? Infinity : timeline.ceiling;
  const fresh = hub.messages.filter((it) => !it.thread_id && it.seq >= first && it.seq <= last);
  // Where the hub does not tell the count of replies, the page asks for it once things are quiet.
  const counted = (list: Message[]) => (hub.tellsCounts ? list : list.map((it) => ({ ...it, reply_count: 0 })));
  expect(counted(shown)).toEqual(counted(fresh));
  for (const root of timeline.wholeThreads) {
    if (!hub.messages.some((it) => it.id === root)) continue;
    expect(timeline.repliesIn(root)).toEqual(hub.thread(root).slice(1));
  }
}

describe('applied events equal a fresh fetch', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    it(`seed ${seed}`, () => {
      const random = new Random(seed * 7919);
      const hub = new FakeHub();
      hub.tellsCounts = seed % 2 === 0;
      for (let i = random.below(60); i > 0; i -= 1) hub.step(random);
      const reader = new Reader(hub);
      for (let i = 0; i < 120; i += 1) {
        const dice = random.below(14);
        if (dice < 4) hub.step(random);
        else if (dice < 8) reader.hear();
        else if (dice === 8) reader.miss();
        else if (dice === 9) reader.fetchPage(reader.timeline.loaded ? random.pick(['older', 'newer'])! : 'newest');
        else if (dice === 10 && random.below(4) === 0) reader.fetchPage(random.pick(['newest', 'around'])!, random.below(hub.seq + 1));
        else if (dice === 11) {
          const root = random.pick(hub.messages.filter((it) => !it.thread_id));
          if (root) reader.fetchThread(root.id);
        } else reader.finish();
      }
      reader.settle();
      if (!reader.timeline.loaded) {
        reader.fetchPage('newest');
        reader.settle();
      }
      expectSameAsFresh(reader, hub);
    });
  }
});

describe('positions', () => {
  const setUp = () => {
    const hub = new FakeHub();
    hub.send();
    const data = new Data();
    data.me = 'mem_1';
    data.channels.set(hub.channel, channel(hub));
    const sync = new Sync(data);
    sync.listed(hub.channel, hub.seq);
    return { hub, data, sync };
  };

  it('an event told twice counts once', () => {
    const { hub, data, sync } = setUp();
    const frame = hub.send();
    sync.receive(frame, 0);
    sync.receive(frame, 0);
    expect(data.channels.get(hub.channel)?.unread_count).toBe(1);
    expect(data.positions.get(hub.channel)).toBe(2);
  });

  it('an event that came too early waits for those before it', () => {
    const { hub, data, sync } = setUp();
    const second = hub.send();
    const third = hub.send();
    expect(sync.receive(third, 0).gap).toBe(hub.channel);
    expect(data.positions.get(hub.channel)).toBe(1);
    expect(sync.receive(second, 0).gap).toBeUndefined();
    expect(data.positions.get(hub.channel)).toBe(3);
    expect(data.channels.get(hub.channel)?.unread_count).toBe(2);
  });

  it('too much missed asks for a reload and goes on from there', () => {
    const { hub, data, sync } = setUp();
    const told = sync.receive({ type: 'sync.reload', data: { channel_id: hub.channel, seq: 2000 } }, 0);
    expect(told.reload).toBe(hub.channel);
    expect(sync.positions()).toEqual({ [hub.channel]: 2000 });
    expect(data.positions.get(hub.channel)).toBe(2000);
  });

  it('my own message leaves nothing unread', () => {
    const { hub, data, sync } = setUp();
    sync.receive(hub.send(), 0);
    sync.receive(hub.send(null, 'mem_1'), 0);
    expect(data.channels.get(hub.channel)).toMatchObject({ unread_count: 0, read_seq: 3 });
  });

  it('what the hub says about reading counts', () => {
    const { hub, data, sync } = setUp();
    sync.receive(hub.send(), 0);
    sync.receive({ type: 'channel.read', data: { channel_id: hub.channel, seq: 2, unread_count: 0 } }, 0);
    expect(data.channels.get(hub.channel)).toMatchObject({ unread_count: 0, read_seq: 2 });
  });
});

describe('other frames', () => {
  it('a growing text is replaced by the final message', () => {
    const data = new Data();
    const partial = { id: 'd1', channel_id: 'c', sender_id: 'a', content: 'he', partial: true, final_id: 'm1' } as unknown as Message;
    apply(data, { type: 'message.new', data: { ...partial, message: partial } }, 0);
    apply(data, { type: 'message.edit', data: { ...partial, message: { ...partial, content: 'hello' } } }, 0);
    expect(data.timeline('c').partial.get('d1')?.content).toBe('hello');
    apply(data, { type: 'message.delete', data: { id: 'd1', message_id: 'd1', channel_id: 'c', partial: true } }, 0);
    expect(data.timeline('c').partial.size).toBe(0);
  });

  it('an action changes in place and a late event of it changes nothing', () => {
    const data = new Data();
    const tell = (seq: number, id: string, phase: string) => apply(data, { type: 'run.action', data: { run_id: 'r', action: { seq, id, phase, kind: 'command', title: id, at: 0 } } }, 0);
    tell(1, 'a', 'started');
    tell(2, 'b', 'started');
    tell(3, 'a', 'completed');
    tell(1, 'a', 'started');
    expect(data.actions.get('r')?.map((it) => `${it.id} ${it.phase}`)).toEqual(['a completed', 'b started']);
  });

  it('actions stay where they began, however they were listed', () => {
    const data = new Data();
    const tell = (seq: number, first_seq: number, id: string) => apply(data, { type: 'run.action', data: { run_id: 'r', action: { seq, first_seq, id, phase: 'updated', kind: 'command', title: id, at: 0 } } }, 0);
    tell(2, 2, 'b');
    tell(3, 1, 'a');
    tell(4, 4, 'c');
    expect(data.actions.get('r')?.map((it) => it.id)).toEqual(['a', 'b', 'c']);
  });

  it('progress of a run has no position and is applied all the same', () => {
    const hub = new FakeHub();
    hub.send();
    const reader = new Reader(hub);
    reader.fetchPage('newest');
    reader.settle();
    const message = { ...hub.messages[0]!, content: 'half way' };
    reader.sync.receive({ type: 'message.edit', data: { channel_id: hub.channel, message } }, 0);
    expect(reader.timeline.messages.get('msg_1')?.content).toBe('half way');
    expect(reader.data.positions.get(hub.channel)).toBe(1);
  });

  it('a message means the same whether its frame has it once or twice', () => {
    const shapes = [
      (message: Message) => ({ ...message, seq: 2, message_id: message.id, message }),
      (message: Message) => ({ ...message, seq: 2, message_seq: message.seq }),
      (message: Message) => ({ ...message, seq: undefined, message_seq: message.seq, progress: true }),
    ];
    for (const shape of shapes) {
      const hub = new FakeHub();
      hub.send();
      const reader = new Reader(hub);
      reader.fetchPage('newest');
      reader.settle();
      const message = { ...hub.messages[0]!, content: 'changed' };
      reader.sync.receive({ type: 'message.edit', data: shape(message) }, 0);
      expect(reader.timeline.messages.get('msg_1')).toEqual(message);
    }
  });

  it('a run that ended stays ended', () => {
    const data = new Data();
    const run = { id: 'r', channel_id: 'c', thread_id: 't', state: 'completed', ended_at: 5 };
    apply(data, { type: 'run.completed', data: { run } }, 0);
    apply(data, { type: 'run.updated', data: { run: { ...run, state: 'running', ended_at: null } } }, 0);
    expect(data.runs.get('r')?.state).toBe('completed');
  });

  it('an older word about a delivery changes nothing', () => {
    const data = new Data();
    const delivery = { id: 'd', channel_id: 'c', message_ids: ['m'], state: 'answered', updated_at: 10 };
    apply(data, { type: 'delivery.update', data: delivery }, 0);
    apply(data, { type: 'delivery.update', data: { ...delivery, state: 'leased', updated_at: 5 } }, 0);
    expect(data.deliveries.get('d')?.state).toBe('answered');
  });

  it('what is told while the lists are fetched is newer than they are', () => {
    const data = new Data();
    const sync = new Sync(data);
    const bob = { id: 'b', name: 'bob', status: 'offline', online: false } as Member;
    data.members.set('b', bob);
    data.members.set('c', { ...bob, id: 'c' });
    const tellAgain = sync.listing();
    sync.receive({ type: 'presence.update', data: { member_id: 'b', status: 'online' } }, 0);
    sync.receive({ type: 'member.left', data: { member_id: 'c' } }, 0);
    // The lists were made before.
    data.members.set('b', bob);
    data.members.set('c', { ...bob, id: 'c' });
    expect(tellAgain(0)).toContain('members');
    expect(data.members.get('b')?.status).toBe('online');
    expect(data.members.has('c')).toBe(false);
  });

  it('typing ends with the message', () => {
    const data = new Data();
    data.me = 'me';
    apply(data, { type: 'typing.start', data: { channel_id: 'c', member_id: 'b', name: 'bob' } }, 100);
    apply(data, { type: 'typing.start', data: { channel_id: 'c', member_id: 'me', name: 'me' } }, 100);
    expect([...data.typing.get('c')!.keys()]).toEqual(['b']);
    apply(data, { type: 'message.new', data: { message: { id: 'm', channel_id: 'c', sender_id: 'b' } } }, 200);
    expect(data.typing.get('c')!.size).toBe(0);
  });

  it('the reply of one request is not taken for a question', () => {
    const data = new Data();
    apply(data, { type: 'approval.request', data: { id: 'a', status: 'pending' } }, 0);
    expect(data.approvals.size).toBe(0);
  });
});
