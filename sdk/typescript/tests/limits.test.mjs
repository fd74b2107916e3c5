// What the kit does when the hub asks for patience.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent } from 'folkmoot-agent';
import { Hub, connected, said, until } from './support.mjs';

test('too many messages at once: the agent waits as the hub asks, and all arrive once and in order', async () => {
  const count = 24;
  const hub = await Hub.start({ MOOT_LIMITS__MESSAGES_PER_SECOND: '2' });
  const owner = await hub.owner();
  const eager = await connected(owner, 'eager', async (wake) => {
    for (let at = 0; at < count; at += 1) await eager.agent.reply(wake, `line ${at}`);
  });
  await owner.send(owner.general, '@eager everything');
  const all = await until(async () => [await said(owner, eager.id)].find((it) => it.length >= count), 'all lines');
  assert.deepEqual(all.map((it) => it.content), Array.from({ length: count }, (_, at) => `line ${at}`));
  assert.ok(eager.lines.some((line) => /retry in \d+ s/.test(line)), eager.lines.join('\n'));
  await eager.end();
  await hub.end();
});

test('429 over HTTP: the agent waits for Retry-After and asks again', async () => {
  const hub = await Hub.start({ MOOT_LIMITS__REQUESTS_PER_SECOND: '2' });
  const owner = await hub.owner();
  const made = await owner.call('POST', `${owner.ws}/members`, { name: 'hasty', type: 'agent' });
  const lines = [];
  const agent = new Agent({ url: hub.url, key: made.api_key, log: (line) => lines.push(line) });
  const all = await Promise.all(Array.from({ length: 16 }, () => agent.tasks.list()));
  assert.ok(all.every((tasks) => tasks.length === 0));
  assert.ok(lines.some((line) => line.startsWith('GET /v1/workspaces/')), lines.join('\n'));
  await hub.end();
});
