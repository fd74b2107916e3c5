// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from './api';
import { Outbox } from './outbox';
import type { Message, NewMessage } from './types';

interface Call {
  channel: string;
  body: NewMessage;
  key: string;
  ok(): Promise<void>;
  fail(error: ApiError): Promise<void>;
}

function setUp() {
  let now = 1000;
  const calls: Call[] = [];
  const stored: string[] = [];
  const timers: { at: number; run: () => void }[] = [];
  const outbox = new Outbox({
    send: (channel, body, key) =>
      new Promise<Message>((resolve, reject) => {
        calls.push({
          channel,
          body,
          key,
          ok: async () => (resolve({ id: `msg_${key}`, channel_id: channel, content: body.content } as Message), settle()),
          fail: async (error) => (reject(error), settle()),
        });
      }),
    stored: (message) => stored.push(message.content),
    changed: () => {},
    now: () => now,
    after: (ms, run) => timers.push({ at: now + ms, run }),
  });
  const pass = async (ms: number) => {
    now += ms;
    for (const timer of timers.filter((it) => it.at <= now)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.run();
    }
    await settle();
  };
  return { outbox, calls, stored, pass };
}

const settle = () => new Promise<void>((resolve) => queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => queueMicrotask(resolve)))));

describe('outbox', () => {
  beforeEach(() => localStorage.clear());

  it('shows what was typed at once and forgets it when it is stored', async () => {
    const { outbox, calls, stored } = setUp();
    outbox.open('mem_1');
    const item = outbox.add('ch', { content: 'hello' });
    expect(outbox.of('ch').map((it) => it.body.content)).toEqual(['hello']);
    expect(calls[0]).toMatchObject({ key: item.key, body: { metadata: { client_id: item.key } } });
    await calls[0]!.ok();
    expect(outbox.of('ch')).toEqual([]);
    expect(stored).toEqual(['hello']);
  });

  it('sends one after the other in a channel, channels at the same time', async () => {
    const { outbox, calls } = setUp();
    outbox.open('mem_1');
    outbox.add('a', { content: '1' });
    outbox.add('a', { content: '2' });
    outbox.add('b', { content: '3' });
    expect(calls.map((it) => it.body.content)).toEqual(['1', '3']);
    await calls[0]!.ok();
    expect(calls.map((it) => it.body.content)).toEqual(['1', '3', '2']);
  });

  it('keeps everything without a network and sends it again under the same key', async () => {
    const { outbox, calls, pass } = setUp();
    outbox.open('mem_1');
    const item = outbox.add('a', { content: '1' });
    outbox.add('a', { content: '2' });
    await calls[0]!.fail(new ApiError(0, 'OFFLINE', 'The hub cannot be reached.'));
    expect(outbox.of('a').map((it) => it.state)).toEqual(['waiting', 'waiting']);
    await pass(4000);
    expect(calls.at(-1)).toMatchObject({ key: item.key });
    await calls.at(-1)!.ok();
    await calls.at(-1)!.ok();
    expect(outbox.size).toBe(0);
  });

  it('waits as long as the hub asks for', async () => {
    const { outbox, calls, pass } = setUp();
    outbox.open('mem_1');
    outbox.add('a', { content: '1' });
    await calls[0]!.fail(new ApiError(429, 'RATE_LIMITED', 'too often', 9));
    await pass(8000);
    expect(calls.length).toBe(1);
    await pass(1000);
    expect(calls.length).toBe(2);
  });

  it('a refused text is kept with the reason, and the next one goes', async () => {
    const { outbox, calls } = setUp();
    outbox.open('mem_1');
    const item = outbox.add('a', { content: '1' });
    outbox.add('a', { content: '2' });
    await calls[0]!.fail(new ApiError(403, 'FORBIDDEN', 'not a channel member'));
    expect(outbox.of('a')[0]).toMatchObject({ state: 'failed', error: 'not a channel member' });
    expect(calls[1]?.body.content).toBe('2');
    outbox.retry(item.key);
    await calls[1]!.ok();
    expect(calls[2]).toMatchObject({ key: item.key });
  });

  it('what cannot be stored any more is not tried again by itself', async () => {
    const { outbox, calls, pass } = setUp();
    outbox.open('mem_1');
    outbox.add('a', { content: '1' });
    await calls[0]!.fail(new ApiError(507, 'quota', 'the workspace holds all it may'));
    await pass(60_000);
    expect(calls.length).toBe(1);
    expect(outbox.of('a')[0]).toMatchObject({ state: 'failed', error: 'the workspace holds all it may', body: { content: '1' } });
  });

  it('an ended session keeps the text until somebody signed in again', async () => {
    const { outbox, calls } = setUp();
    outbox.open('mem_1');
    outbox.add('a', { content: '1' });
    await calls[0]!.fail(new ApiError(401, 'AUTH_INVALID_TOKEN', 'log in'));
    expect(outbox.of('a')[0]?.state).toBe('waiting');
    outbox.open('mem_1');
    expect(calls.length).toBe(2);
  });

  it('a reload takes up what was left, under the same key', () => {
    const first = setUp();
    first.outbox.open('mem_1');
    const item = first.outbox.add('a', { content: '1' });
    const second = setUp();
    second.outbox.open('mem_1');
    expect(second.calls.map((it) => it.key)).toEqual([item.key]);
  });

  it('the event of the hub is as good as the answer', () => {
    const { outbox } = setUp();
    outbox.open('mem_1');
    const item = outbox.add('a', { content: '1' });
    outbox.arrived(item.key);
    expect(outbox.of('a')).toEqual([]);
  });

  it('replies in a thread are shown there and not in the channel', () => {
    const { outbox } = setUp();
    outbox.open('mem_1');
    outbox.add('a', { content: '1', thread_id: 'msg_1' });
    expect(outbox.of('a')).toEqual([]);
    expect(outbox.of('a', 'msg_1').length).toBe(1);
  });
});
