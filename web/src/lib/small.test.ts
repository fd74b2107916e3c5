// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { readAsk } from './asks';
import { readDiff } from './diff';
import { readQuery } from './query';
import { match } from './router.svelte';
import { Data } from './store/data';
import { FakeHub, Random } from './store/fake-hub';
import { RowMaker } from './store/rows';
import { mayDecide, needsYou, nextUnread } from './store/select';
import { complete, rank, triggerAt } from './suggest';
import type { Approval, Channel, Member, Notification } from './types';
import { deliveryWord, span } from './words';

describe('addresses', () => {
  it('match their pattern', () => {
    expect(match('/c/:channel/:message?', '/c/ch_1')).toEqual({ channel: 'ch_1' });
    expect(match('/c/:channel/:message?', '/c/ch_1/msg_2')).toEqual({ channel: 'ch_1', message: 'msg_2' });
    expect(match('/c/:channel', '/d/1')).toBeNull();
    expect(match('/c/:channel', '/c')).toBeNull();
    expect(match('/c/:channel', '/c/a/b')).toBeNull();
    expect(match('/c/:channel', '/c/%')).toBeNull();
    expect(match('/', '/')).toEqual({});
  });
});

describe('suggestions', () => {
  it('begin with their sign after a space or at the start', () => {
    expect(triggerAt('hi @co', 6)).toEqual({ sign: '@', query: 'co', at: 3 });
    expect(triggerAt('mail@co', 7)).toBeNull();
    expect(triggerAt('#', 1)).toEqual({ sign: '#', query: '', at: 0 });
    expect(triggerAt(':s', 2)).toBeNull();
    expect(triggerAt(':sm', 3)?.sign).toBe(':');
    expect(triggerAt('/ta', 3)?.sign).toBe('/');
    expect(triggerAt('a /ta', 5)).toBeNull();
  });

  it('complete in place', () => {
    const trigger = triggerAt('hi @co there', 6)!;
    expect(complete('hi @co there', 6, trigger, '@codex')).toEqual({ text: 'hi @codex there', caret: 10 });
    expect(complete('@co', 3, { sign: '@', query: 'co', at: 0 }, '@codex')).toEqual({ text: '@codex ', caret: 7 });
  });

  it('best first', () => {
    expect(rank(['xcode', 'my-code', 'codex', 'other'], 'cod', (it) => it)).toEqual(['codex', 'my-code', 'xcode']);
  });
});

describe('search words', () => {
  it('take filters out', () => {
    expect(readQuery('flaky from:@Ann in:#general has:file "two words"')).toMatchObject({ words: 'flaky two words', from: 'ann', in: 'general', has: ['file'] });
    expect(readQuery('x before:2026-01-01').before).toBe(Date.parse('2026-01-01'));
    expect(readQuery('x before:never').before).toBe(0);
    expect(readQuery('https://a.example').words).toBe('https://a.example');
  });
});

describe('diffs', () => {
  const text = 'diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+--- not a header\ndiff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n';
  it('have files, lines and numbers', () => {
    const files = readDiff(text);
    expect(files.map((it) => [it.path, it.kind, it.added, it.removed, it.binary])).toEqual([
      ['x.rs', 'modified', 1, 1, false],
      ['n', 'added', 1, 0, false],
      ['p.png', 'modified', 0, 0, true],
    ]);
    expect(files[0]!.lines.map((it) => [it.kind, it.old, it.now])).toEqual([['hunk', undefined, undefined], ['same', 1, 1], ['remove', 2, undefined], ['add', undefined, 2], ['same', 3, 3]]);
  });

  it('of any text do not fail', () => {
    const random = new Random(7);
    const parts = ['diff --git a/x b/y\n', '--- a/x\n', '+++ b/x\n', '@@ -1,2 +1 @@\n', '@@ @@\n', '+a\n', '-b\n', ' c\n', '\\ No newline\n', 'x\n', '\n'];
    for (let i = 0; i < 500; i += 1) {
      let made = '';
      for (let n = random.below(12); n >= 0; n -= 1) made += random.pick(parts);
      expect(() => readDiff(made)).not.toThrow();
    }
  });
});

describe('questions', () => {
  const ask = (fields: Partial<Approval>): Approval => ({ id: 'a', workspace_id: 'w', agent_id: 'bot', action: 'Run a command', payload: '{}', status: 'pending', created_at: 1, kind: 'permission', scope: 'once', expires_at: 1e15, ...fields });

  it('show the exact command, and everything else as it came', () => {
    const read = readAsk(ask({ payload: JSON.stringify({ command: ['rm', '-rf', 'x'], reason: 'tidy', extra: { a: 1 } }) }));
    expect(read).toMatchObject({ command: 'rm -rf x', why: 'tidy', destructive: true });
    expect(read.rest).toEqual([['extra', '{\n  "a": 1\n}']]);
    expect(readAsk(ask({ payload: 'not json' })).rest).toEqual([['details', 'not json']]);
    expect(readAsk(ask({ payload: '{"command":"ls"}' })).destructive).toBe(false);
  });

  it('a brake shows the text that waits', () => {
    const read = readAsk(ask({ kind: 'brake', action: 'continue', payload: JSON.stringify({ limit: 'pair', text: 'again', root_id: 'm', channel_id: 'c', thread_id: null }) }));
    expect(read.text).toBe('again');
    expect(read.why).toContain('back and forth');
    expect(read.rest).toEqual([]);
  });

  it('may be decided by the owner, the asker and admins; a brake by everybody in the channel', () => {
    const data = new Data();
    data.me = 'me';
    const member = (id: string, fields: Partial<Member>) => data.members.set(id, { id, name: id, type: 'human', role: 'member', status: 'online', online: true, workspace_id: 'w', created_at: 0, ...fields });
    member('me', {});
    member('bot', { type: 'agent', created_by: 'somebody' });
    expect(mayDecide(data, ask({ run_id: 'r' }))).toBe(false);
    expect(mayDecide(data, ask({ run_id: 'r', asker_id: 'me' }))).toBe(true);
    member('bot', { type: 'agent', created_by: 'me' });
    expect(mayDecide(data, ask({ run_id: 'r' }))).toBe(true);
    member('bot', { type: 'agent' });
    member('me', { role: 'admin' });
    expect(mayDecide(data, ask({ run_id: 'r' }))).toBe(true);
    member('me', {});
    data.channels.set('c', { id: 'c', is_member: true } as Channel);
    expect(mayDecide(data, ask({ kind: 'brake', channel_id: 'c' }))).toBe(true);
    expect(mayDecide(data, ask({ kind: 'brake', channel_id: 'other' }))).toBe(false);
    member('me', { type: 'agent', role: 'owner' });
    expect(mayDecide(data, ask({ kind: 'brake', channel_id: 'c' }))).toBe(false);
  });

  it('need you until they are decided or out of time; direct messages do not', () => {
    const data = new Data();
    data.me = 'me';
    data.members.set('me', { id: 'me', type: 'human', role: 'owner' } as Member);
    data.approvals.set('a', ask({}));
    data.approvals.set('b', ask({ id: 'b', status: 'approved' }));
    data.approvals.set('c', ask({ id: 'c', expires_at: 5 }));
    const notice = (id: string, type: string, is_read = false) => data.notifications.set(id, { id, type, source_type: type, is_read, created_at: 1 } as Notification);
    notice('n1', 'mention');
    notice('n2', 'dm');
    notice('n3', 'mention', true);
    expect(needsYou(data, 10).map((it) => it.id)).toEqual(['a', 'n1']);
  });
});

describe('rows', () => {
  const setUp = () => {
    const hub = new FakeHub();
    const data = new Data();
    data.me = 'mem_1';
    return { hub, data, maker: new RowMaker() };
  };

  it('group what one says in a row, and begin each day with a line', () => {
    const { hub, data, maker } = setUp();
    hub.send(null, 'a');
    hub.send(null, 'a');
    hub.send(null, 'b');
    const rows = maker.rows(data, hub.channel, hub.messages, { now: 0 });
    expect(rows.map((it) => (it.kind === 'message' ? `${it.message.sender_id}${it.head ? '!' : ''}` : it.kind))).toEqual(['day', 'a!', 'a', 'b!']);
  });

  it('the new line stands before the first message of others that was not read', () => {
    const { hub, data, maker } = setUp();
    hub.send(null, 'a');
    hub.send(null, 'mem_1');
    hub.send(null, 'a');
    const rows = maker.rows(data, hub.channel, hub.messages, { newAfter: 1, now: 0 });
    expect(rows.map((it) => it.kind)).toEqual(['day', 'message', 'message', 'new', 'message']);
  });

  it('unchanged rows stay the same object', () => {
    const { hub, data, maker } = setUp();
    hub.send(null, 'a');
    const before = maker.rows(data, hub.channel, hub.messages, { now: 0 });
    hub.send(null, 'a');
    const after = maker.rows(data, hub.channel, hub.messages, { now: 0 });
    expect(after[1]).toBe(before[1]);
    hub.edit('msg_1');
    expect(maker.rows(data, hub.channel, hub.messages, { now: 0 })[1]).not.toBe(before[1]);
  });

  it('a message that was fetched before its sending was answered is shown once', () => {
    const { hub, data, maker } = setUp();
    hub.send(null, 'mem_1');
    const stored = { ...hub.messages[0]!, metadata: { client_id: 'k1' } };
    const item = { key: 'k1', member: 'mem_1', channel: hub.channel, body: { content: 'x' }, created_at: 1, state: 'sending' as const };
    const rows = maker.rows(data, hub.channel, [stored], { pending: [item], now: 0 });
    expect(rows.map((it) => it.kind)).toEqual(['day', 'message']);
  });

  it('a message takes the place of its echo', () => {
    const { hub, data, maker } = setUp();
    const item = { key: 'k1', member: 'mem_1', channel: hub.channel, body: { content: 'x' }, created_at: 1, state: 'sending' as const };
    const pending = maker.rows(data, hub.channel, [], { pending: [item], now: 0 });
    hub.send(null, 'mem_1', { client_id: 'k1' });
    const stored = maker.rows(data, hub.channel, hub.messages, { now: 0 });
    expect(stored.at(-1)?.key).toBe(pending.at(-1)?.key);
  });
});

describe('words', () => {
  it('spans', () => {
    expect([span(500), span(61_000), span(700_000), span(3_660_000), span(2 * 86_400_000)]).toEqual(['0 s', '1 min 1 s', '11 min', '1 h 1 min', '2 d']);
  });

  it('deliveries', () => {
    const word = (state: string, why: string | null = null) => deliveryWord({ state, why } as never).text;
    expect([word('queued', 'collecting'), word('queued', 'offline'), word('admitted'), word('suppressed')]).toEqual(['about to wake', 'waits: offline', 'on it', 'held back']);
  });

  it('the next unread channel, round the corner', () => {
    const data = new Data();
    const add = (id: string, unread_count: number) => data.channels.set(id, { id, name: id, type: 'channel', is_member: true, archived: false, unread_count, member_ids: [] as string[] } as Channel);
    add('a', 1);
    add('b', 0);
    add('c', 2);
    expect(nextUnread(data, 'a', 1)?.id).toBe('c');
    expect(nextUnread(data, 'c', 1)?.id).toBe('a');
    expect(nextUnread(data, 'b', -1)?.id).toBe('a');
  });
});
