import { describe, expect, it } from 'vitest';
import { Connection, type Link, type Outside, type SocketLike } from './connection';
import type { Frame } from './frame';

class FakeSocket implements SocketLike {
  readyState = 0;
  sent: { type: string; id: string; data: Record<string, unknown> }[] = [];
  closed = false;
  onopen: SocketLike['onopen'] = null;
  onclose: SocketLike['onclose'] = null;
  onmessage: SocketLike['onmessage'] = null;
  onerror: SocketLike['onerror'] = null;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as FakeSocket['sent'][number]);
  }

  close(): void {
    this.closed = true;
  }

  says(type: string, data: object = {}): void {
    this.onmessage?.({ data: JSON.stringify({ type, data }) });
  }
}

function setUp() {
  let now = 0;
  let timers: { at: number; run: () => void; id: number }[] = [];
  let ids = 0;
  const sockets: FakeSocket[] = [];
  const outside: Outside = {
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    now: () => now,
    random: () => 1,
    after: (ms, run) => {
      timers.push({ at: now + ms, run, id: ++ids });
      return ids;
    },
    cancel: (id) => {
      timers = timers.filter((timer) => timer.id !== id);
    },
  };
  const links: Link[] = [];
  const frames: Frame[] = [];
  const connection = new Connection('ws://hub/ws', (link) => links.push(link), (frame) => frames.push(frame), outside);
  const pass = (ms: number) => {
    const end = now + ms;
    for (;;) {
      const next = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      timers = timers.filter((timer) => timer !== next);
      now = next.at;
      next.run();
    }
    now = end;
  };
  const last = () => sockets[sockets.length - 1]!;
  const online = () => {
    last().onopen?.();
    last().says('auth.success');
  };
  return { connection, links, frames, sockets, pass, last, online };
}

describe('connection', () => {
  it('logs in first and is online when the hub says so', () => {
    const { connection, last, online } = setUp();
    connection.start('t1');
    online();
    expect(last().sent[0]).toMatchObject({ type: 'auth.login', data: { token: 't1', frames: 'plain' } });
    expect(connection.link).toMatchObject({ state: 'online', epoch: 1 });
  });

  it('says nothing while there is no link', () => {
    const { connection, last } = setUp();
    connection.start('t1');
    expect(connection.send({ type: 'typing.start' })).toBe(false);
    expect(last().sent).toEqual([]);
  });

  it('comes back with growing pauses of at most fifteen seconds', () => {
    const { connection, sockets, pass, last } = setUp();
    connection.start('t1');
    const pauses: number[] = [];
    for (let i = 0; i < 9; i += 1) {
      const before = sockets.length;
      last().onclose?.({ code: 1006, reason: '' });
      let waited = 0;
      while (sockets.length === before) {
        pass(100);
        waited += 100;
      }
      pauses.push(waited);
    }
    expect(pauses.slice(0, 4)).toEqual([400, 800, 1600, 3200]);
    expect(Math.max(...pauses)).toBe(15_000);
  });

  it('begins with a short pause again after a success', () => {
    const { connection, sockets, pass, last, online } = setUp();
    connection.start('t1');
    for (let i = 0; i < 5; i += 1) {
      last().onclose?.({ code: 1006, reason: '' });
      pass(15_000);
    }
    online();
    const before = sockets.length;
    last().onclose?.({ code: 1006, reason: '' });
    pass(400);
    expect(sockets.length).toBe(before + 1);
  });

  it('a refused token is not tried again; a new one is', () => {
    const { connection, sockets, pass, last } = setUp();
    connection.start('old');
    last().onopen?.();
    last().says('auth.fail', { error: 'invalid credentials' });
    expect(connection.link.state).toBe('refused');
    pass(60_000);
    expect(sockets.length).toBe(1);
    connection.start('new');
    expect(sockets.length).toBe(2);
  });

  it('asks for a sign of life after a silence and reconnects when none comes', () => {
    const { connection, sockets, pass, last, online } = setUp();
    connection.start('t1');
    online();
    pass(25_000);
    expect(last().sent.at(-1)?.type).toBe('inbox.poll');
    last().says('inbox.items');
    pass(20_000);
    expect(sockets.length).toBe(1);
    pass(5_000 + 10_000 + 400);
    expect(sockets[0]!.closed).toBe(true);
    expect(sockets.length).toBe(2);
  });

  it('a connection that never opens is given up', () => {
    const { connection, sockets, pass } = setUp();
    connection.start('t1');
    pass(10_000 + 400);
    expect(sockets.length).toBe(2);
  });

  it('a renewed token is for the next log-in', () => {
    const { connection, sockets, pass, last, online } = setUp();
    connection.start('t1');
    online();
    connection.renew('t2');
    expect(sockets.length).toBe(1);
    last().onclose?.({ code: 1006, reason: '' });
    pass(400);
    last().onopen?.();
    expect(last().sent[0]).toMatchObject({ data: { token: 't2' } });
  });

  it('each log-in is a new epoch', () => {
    const { connection, pass, last, online } = setUp();
    connection.start('t1');
    online();
    last().onclose?.({ code: 1006, reason: '' });
    pass(400);
    online();
    expect(connection.link.epoch).toBe(2);
  });

  it('what an old socket says no longer counts', () => {
    const { connection, sockets, frames, pass, online } = setUp();
    connection.start('t1');
    online();
    sockets[0]!.onclose?.({ code: 1006, reason: '' });
    pass(400);
    sockets[0]!.says('message.new');
    expect(frames.filter((frame) => frame.type === 'message.new')).toEqual([]);
  });

  it('retry now does not wait', () => {
    const { connection, sockets, last } = setUp();
    connection.start('t1');
    last().onclose?.({ code: 1006, reason: '' });
    connection.retryNow();
    expect(sockets.length).toBe(2);
  });
});
