// What the kit does when something is away: the hub killed and started again, a socket cut, a key that is no more.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent, Stopped } from 'folkmoot-agent';
import { Cable, Hub, connected, deferred, member, said, settled, until } from './support.mjs';

let hub, owner;
before(async () => {
  hub = await Hub.start();
  owner = await hub.owner();
});
after(() => hub?.end());

test('the hub is killed and started again in the middle: the wake is answered, and once', async () => {
  const go = deferred();
  const started = deferred();
  let woken = 0;
  const steady = await connected(owner, 'steady', async (wake) => {
    woken += 1;
    started.resolve();
    await go.promise;
    await steady.agent.reply(wake, 'still here');
  });
  const asked = await owner.send(owner.general, '@steady are you?');
  await started.promise;
  await hub.kill();
  go.resolve();
  await hub.run();
  const over = await settled(owner, asked);
  assert.equal(over.state, 'answered');
  assert.deepEqual((await said(owner, steady.id)).map((it) => it.content), ['still here']);
  assert.equal(woken, 1);
  await steady.end();
});

test('a stream goes on after the hub was killed and started again', async () => {
  const begun = deferred();
  const go = deferred();
  const scribe = await connected(owner, 'scribe', async (wake) => {
    const stream = await scribe.agent.stream(wake);
    stream.write('before, ');
    begun.resolve();
    await go.promise;
    stream.write('after');
    await stream.end();
  });
  const asked = await owner.send(owner.general, '@scribe go');
  await begun.promise;
  await hub.kill();
  go.resolve();
  await hub.run();
  assert.equal((await settled(owner, asked)).state, 'answered');
  assert.deepEqual((await said(owner, scribe.id)).map((it) => it.content), ['before, after']);
  await scribe.end();
});

test('an answer and a decision that fall into the time without a connection are not missed', async () => {
  const cable = await Cable.to(hub);
  const patient = await connected(owner, 'patient', async (wake) => {
    const { approved } = await patient.agent.ask(wake, 'restart', {});
    const answer = await patient.agent.wait(wake);
    await patient.agent.reply(wake, `${approved}, ${answer.content}`);
  }, { url: cable.url });
  const asked = await owner.send(owner.general, '@patient restart it');
  const open = await until(async () => (await owner.call('GET', `${owner.ws}/approvals?status=pending`))[0], 'a question');
  cable.pull();
  await owner.call('PATCH', `/v1/approvals/${open.id}`, { approved: true });
  await owner.send(owner.general, 'now, please');
  cable.plug();
  const over = await settled(owner, asked);
  assert.equal((await said(owner, patient.id)).find((it) => it.id === over.reply_id).content, 'true, now, please');
  await patient.end();
  cable.end();
});

test('a socket cut before the acknowledgement: the send is repeated and stored once', async () => {
  const cable = await Cable.to(hub);
  const cut = await connected(owner, 'cut', async (wake) => {
    const sent = cut.agent.reply(wake, 'once');
    // It arrives, but nobody hears so.
    cable.pull();
    await sent;
  }, { url: cable.url });
  const asked = await owner.send(owner.general, '@cut go');
  await until(() => cable.cut, 'the cable is out');
  cable.plug();
  assert.equal((await settled(owner, asked)).state, 'answered');
  assert.equal((await said(owner, cut.id)).length, 1);
  await cut.end();
  cable.end();
});

test('a send whose acknowledgement was lost is stored once', async () => {
  // The first acknowledgement is swallowed together with its connection.
  let lost = 0;
  const { open } = swallowing((frame) => frame.type === 'message.ack' && lost++ === 0);
  const twice = await connected(owner, 'twice', (wake) => twice.agent.reply(wake, 'only once'), { outside: { open } });
  const asked = await owner.send(owner.general, '@twice go');
  await until(() => lost >= 2, 'the repeated acknowledgement');
  assert.equal((await settled(owner, asked)).state, 'answered');
  assert.deepEqual((await said(owner, twice.id)).map((it) => it.content), ['only once']);
  await twice.end();
});

test('what was said while the agent was away wakes it when it is back', async () => {
  const made = await member(owner, 'away');
  const asked = await owner.send(owner.general, '@away anybody?');
  const agent = new Agent({ url: hub.url, key: made.api_key, log: () => {} });
  const over = agent.onMention((wake) => agent.reply(wake, 'now')).run();
  assert.equal((await settled(owner, asked)).state, 'answered');
  agent.stop();
  await over;
});

test('the first frame is the log-in, for plain frames, and the second the greeting', async () => {
  const made = await member(owner, 'polite');
  const frames = [];
  const { WebSocket } = await import('ws');
  const open = (url) => {
    const socket = new WebSocket(url);
    const send = socket.send.bind(socket);
    socket.send = (text) => (frames.push(JSON.parse(text)), send(text));
    return socket;
  };
  const agent = new Agent({ url: hub.url, key: made.api_key, about: 'Greets.', outside: { open } });
  const over = agent.run();
  await until(() => frames.length >= 2, 'two frames');
  assert.deepEqual(frames.slice(0, 2).map(({ v, type, data }) => ({ v, type, data })), [
    { v: 1, type: 'auth.login', data: { token: made.api_key, frames: 'plain' } },
    { v: 1, type: 'agent.hello', data: { role_card: { system_prompt: 'Greets.', capabilities: [] }, runtime: { type: 'script' } } },
  ]);
  agent.stop();
  await over;
});

test('a key that nobody knows stops the agent in words', async () => {
  const lines = [];
  const agent = new Agent({ url: hub.url, key: `lr_${'0'.repeat(64)}`, log: (line) => lines.push(line) });
  await assert.rejects(agent.run(), (error) => error instanceof Stopped && /the hub refuses the key: .+\nhint: /.test(error.message));
  assert.deepEqual(lines, []);
});

test('a key that is replaced stops the agent that is connected with the old one', async () => {
  const old = await connected(owner, 'old', () => {});
  await owner.call('POST', `${owner.ws}/members/${old.id}/key`);
  const error = await old.over;
  assert.ok(error instanceof Stopped, String(error));
});

test('a deleted workspace stops its agents in words, and what they wait for ends', async () => {
  const other = await Hub.start();
  const boss = await other.owner();
  const failed = deferred();
  const waiting = deferred();
  const last = await connected(boss, 'last', async (wake) => {
    waiting.resolve();
    await last.agent.ask(wake, 'wait', {}).catch((error) => (failed.resolve(error), Promise.reject(error)));
  });
  await boss.send(boss.general, '@last wait');
  await waiting.promise;
  await boss.call('DELETE', boss.ws);
  const error = await last.over;
  assert.ok(error instanceof Stopped && /workspace was deleted/.test(error.message), String(error));
  assert.ok(await failed.promise);
  await other.end();
});

/** Sockets that lose a frame, and themselves with it. */
function swallowing(loses) {
  const open = async (url) => {
    const { WebSocket } = await import('ws');
    const socket = new WebSocket(url);
    const set = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage').set;
    Object.defineProperty(socket, 'onmessage', {
      set: (heard) => set.call(socket, (event) => (loses(JSON.parse(event.data)) ? socket.terminate() : heard(event))),
    });
    return socket;
  };
  return { open };
}
