// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { readChanges, readDiff } from './diff';
import { isEnough, readQuery } from './query';
import { match } from './router.svelte';
import { Data } from './store/data';
import { FakeHub, Random } from './store/fake-hub';
import { RowMaker } from './store/rows';
import { hostIn, inOneLine, isQuestion, shownOf, visible, whyHeld, wordsOf } from './shown';
import { may, needsYou, nextUnread } from './store/select';
import { putApproval } from './store/apply';
import { complete, rank, triggerAt } from './suggest';
import type { Approval, Channel, Notification, Shown, ShownPart, Workspace } from './types';
import { deliveryWord, deviceName, span } from './words';

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

  it('are enough with one condition alone', () => {
    for (const text of ['from:ann', 'in:general', 'has:file', 'before:2026-01-01', 'ab', 'a from:ann']) expect(isEnough(readQuery(text)), text).toBe(true);
    for (const text of ['', 'a', 'before:never', ' ']) expect(isEnough(readQuery(text)), text).toBe(false);
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

  it('leave out no line of a change, however it is headed', () => {
    const random = new Random(11);
    const parts = ['@@ -1,2 +1 @@', '@@ nonsense @@', '@@ -1 +1,9 @@', '+added', '-removed', ' same', 'neither'];
    for (let i = 0; i < 500; i += 1) {
      const lines = Array.from({ length: 1 + random.below(12) }, () => random.pick(parts)!);
      const seen = readDiff(lines.join('\n')).flatMap((file) => file.lines.map((line) => line.text.replace(/^[+ -]/, '')));
      expect(seen).toEqual(lines.map((line) => line.replace(/^[+ -]/, '')));
    }
  });

  it('of one file show every line, also those that look like the head of another', () => {
    const text = '@@ -3 +3,2 @@\n--- a/innocent\n+++ /dev/null\n+diff --git a/x b/x\n\\ No newline';
    const { path, lines, added, removed } = readChanges(text, 'src/a.rs');
    expect([path, added, removed]).toEqual(['src/a.rs', 2, 1]);
    expect(lines.map((it) => [it.kind, it.text])).toEqual([['hunk', '@@ -3 +3,2 @@'], ['remove', '-- a/innocent'], ['add', '++ /dev/null'], ['add', 'diff --git a/x b/x'], ['note', '\\ No newline']]);
  });
});

describe('questions', () => {
  const ask = (fields: Partial<Approval>): Approval => ({ id: 'a', workspace_id: 'w', agent_id: 'bot', action: 'Run a command', payload: '{}', status: 'pending', created_at: 1, kind: 'permission', scope: 'once', expires_at: 1e15, ...fields }) as Approval;

  const shown = (fields: Partial<Shown>): Shown => ({ heading: 'Run a command', warning: null, says: null, parts: [], choices: [], ...fields });

  it('are shown as the hub renders them', () => {
    const rendered = shown({ parts: [{ label: 'Command', kind: 'command', text: 'ls' }] });
    expect(shownOf(ask({ shown: rendered }))).toBe(rendered);
  });

  it('of a hub that does not render are shown as text, with nothing invisible in it', () => {
    const plain = shownOf(ask({ action: 'tidy\u202eup', payload: '{"command":"rm -rf x"}' }));
    expect(plain.says).toBe('tidy⟨U+202E⟩up');
    expect(plain.parts).toEqual([{ label: 'Details', kind: 'argument', text: '{"command":"rm -rf x"}' }]);
    expect(shownOf(ask({ payload: 'not json' })).parts[0]!.text).toBe('not json');
  });

  it('in one line begin with the warning, and say that there is more', () => {
    const parts: ShownPart[] = [{ label: 'Folder', kind: 'place', text: '/src' }, { label: 'Command', kind: 'command', text: '\n  rm -rf build\nls' }];
    expect(inOneLine(ask({ shown: shown({ warning: 'deletes files without asking', says: 'just looking', parts }) }))).toBe('Careful, deletes files without asking. Run a command: rm -rf build …');
    expect(inOneLine(ask({ shown: shown({ parts: [{ label: 'Command', kind: 'command', text: 'ls' }] }) }))).toBe('Run a command: ls');
  });

  it('show the words of the agent unless they repeat the action', () => {
    const parts: ShownPart[] = [{ label: 'Command', kind: 'command', text: 'ls -a' }];
    expect(wordsOf(shown({ says: 'Bash: ls -a', parts }))).toBe('');
    expect(wordsOf(shown({ says: 'ls -a', parts }))).toBe('');
    expect(wordsOf(shown({ says: 'Bash: ls', parts }))).toBe('Bash: ls');
    expect(wordsOf(shown({ heading: 'Use a tool: mcp__db__delete', says: 'mcp__db__delete' }))).toBe('');
    expect(wordsOf(shown({ says: 'Edit: src/a.rs', parts: [{ label: 'src/a.rs', kind: 'diff', text: '+x' }] }))).toBe('');
    expect(wordsOf(shown({ says: 'It is safe, trust me: ls -a', parts }))).not.toBe('');
  });

  it('about a text that is held back say why', () => {
    expect(whyHeld(ask({ kind: 'brake', payload: '{"limit":"pair","text":"again"}' }))).toContain('back and forth');
    expect(whyHeld(ask({ payload: '{"limit":"pair"}' }))).toBe('');
  });

  it('with choices are answered, not allowed', () => {
    expect(isQuestion(ask({ shown: shown({ choices: ['a', 'b'] }) }))).toBe(true);
    expect(isQuestion(ask({ shown: shown({ heading: 'A question' }) }))).toBe(true);
    expect(isQuestion(ask({ shown: shown({}) }))).toBe(false);
    expect(isQuestion(ask({}))).toBe(false);
  });

  it('name the host that an address leads to', () => {
    const whole = (text: string) => Object.values(hostIn(text)).join('');
    for (const address of ['https://github.com@evil.example/x', 'https://a.example:81?q=@b', 'nonsense', 'https://evil.example\\@github.com/']) expect(whole(address)).toBe(address);
    expect(hostIn('https://github.com@evil.example/x').host).toBe('evil.example');
    expect(hostIn('https://evil.example\\@github.com/').host).toBe('evil.example');
    expect(hostIn('https://a.example:81?q=@b').host).toBe('a.example:81');
  });

  it('turn invisible signs into visible ones and leave the rest alone', () => {
    expect(visible('a\u202eb\u200bc\u001b[2J\u{e0041}')).toBe('a⟨U+202E⟩b⟨U+200B⟩c⟨U+001B⟩[2J⟨U+E0041⟩');
    expect(visible('Grüße, 世界 👍🏽\n\tשלום')).toBe('Grüße, 世界 👍🏽\n\tשלום');
  });

  it('need only those who may decide them, as the hub says', () => {
    const data = new Data();
    data.approvals.set('mine', ask({ id: 'mine', may_decide: true }));
    data.approvals.set('others', ask({ id: 'others', may_decide: false }));
    // Told over the socket, and the hub has not said yet who may.
    data.approvals.set('unknown', ask({ id: 'unknown' }));
    expect(needsYou(data, 10).map((it) => it.id)).toEqual(['mine']);
  });

  it('keep what the hub said of the reader when the socket tells them again', () => {
    const data = new Data();
    const { may_decide, decider_ids, ...told } = ask({ may_decide: true, decider_ids: ['me'] });
    putApproval(data, { ...told, may_decide, decider_ids });
    putApproval(data, told);
    expect(data.approvals.get(told.id)).toMatchObject({ may_decide: true, decider_ids: ['me'] });
  });

  it('and everything else that is offered follow what the hub says, not the role', () => {
    const data = new Data();
    expect(may(data, 'administer')).toBe(false);
    data.workspace = { may: ['administer'] } as Workspace;
    expect(may(data, 'administer')).toBe(true);
    expect(may(data, 'make_admins')).toBe(false);
  });

  it('stay decided when an older answer comes late', () => {
    const data = new Data();
    putApproval(data, ask({ status: 'approved' }));
    expect(putApproval(data, ask({ status: 'pending' }))).toEqual([]);
    expect(data.approvals.get(ask({}).id)?.status).toBe('approved');
  });

  it('need you until they are decided or out of time; direct messages do not', () => {
    const data = new Data();
    data.me = 'me';
    data.approvals.set('a', ask({ may_decide: true }));
    data.approvals.set('b', ask({ id: 'b', status: 'approved', may_decide: true }));
    data.approvals.set('c', ask({ id: 'c', expires_at: 5, may_decide: true }));
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

  it('devices', () => {
    expect(deviceName('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0')).toBe('Firefox on Linux');
    expect(deviceName('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36')).toBe('Chrome on macOS');
    expect(deviceName('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 (KHTML, like Gecko) Version/18.0 Safari/604.1')).toBe('Safari on iOS');
    expect([deviceName('moot/0.1.0'), deviceName('')]).toEqual(['moot/0.1.0', 'A program']);
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
