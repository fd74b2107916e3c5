// What an agent of the kit does for a wake, against the real hub.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Refused, StreamStopped, WaitTimeout } from 'folkmoot-agent';
import { Hub, connected, deferred, said, settled, until } from './support.mjs';

let hub, owner;
before(async () => {
  hub = await Hub.start();
  owner = await hub.owner();
});
after(() => hub?.end());

test('a mention reaches the handler with its context, and the reply settles the wake', async () => {
  await owner.send(owner.general, 'something before');
  const seen = deferred();
  const echo = await connected(owner, 'echo', async (wake) => {
    seen.resolve(wake);
    await echo.agent.reply(wake, `You said: ${wake.text}`);
  });
  const asked = await owner.send(owner.general, '@echo hello');
  const over = await settled(owner, asked);
  const wake = await seen.promise;
  assert.deepEqual([wake.reason, wake.sender, wake.channel.id, wake.threadId], ['mention', 'ann', owner.general.id, null]);
  assert.equal(wake.messages.at(-2).content, 'something before');
  assert.equal(over.state, 'answered');
  assert.deepEqual((await said(owner, echo.id)).map((it) => [it.id, it.content]), [[over.reply_id, 'You said: @echo hello']]);
  await echo.end();
});

test('what was asked in a thread is answered in it, and a second reply goes there too', async () => {
  const thready = await connected(owner, 'thready', async (wake) => {
    await thready.agent.reply(wake, 'one');
    await thready.agent.reply(wake, 'two');
  });
  const root = await owner.send(owner.general, 'a root');
  await settled(owner, await owner.send(owner.general, '@thready here', { thread_id: root.id }));
  const replies = await until(async () => [await said(owner, thready.id)].find((it) => it.length === 2), 'two replies');
  assert.deepEqual(replies.map((it) => [it.content, it.thread_id]), [['one', root.id], ['two', root.id]]);
  await thready.end();
});

test('a handler that says nothing passes the wake, and only when it is done', async () => {
  const go = deferred();
  const started = deferred();
  const quiet = await connected(owner, 'quiet', async () => (started.resolve(), await go.promise));
  const asked = await owner.send(owner.general, '@quiet shh');
  await started.promise;
  const open = (await owner.call('GET', `/v1/channels/${owner.general.id}/deliveries?message_id=${asked.id}`))[0];
  assert.ok(['leased', 'admitted'].includes(open.state), open.state);
  go.resolve();
  assert.equal((await settled(owner, asked)).state, 'passed');
  await quiet.end();
});

test('a handler that throws fails the wake visibly, with its words', async () => {
  const broken = await connected(owner, 'broken', () => {
    throw new Error('the database is closed');
  });
  const over = await settled(owner, await owner.send(owner.general, '@broken go'));
  assert.deepEqual([over.state, over.why], ['failed', 'the database is closed']);
  const told = await until(async () => (await owner.call('GET', '/v1/notifications?limit=50')).find((it) => it.type === 'delivery_failed'), 'a notice');
  assert.match(told.body, /the database is closed/);
  assert.ok(broken.lines.some((line) => line.includes('the database is closed')));
  await broken.end();
});

test('a handler that throws after its reply says so as well', async () => {
  const late = await connected(owner, 'late', async (wake) => {
    await late.agent.reply(wake, 'I begin');
    throw new Error('out of paper');
  });
  await owner.send(owner.general, '@late print');
  const all = await until(async () => [await said(owner, late.id)].find((it) => it.length === 2), 'the second message');
  assert.deepEqual(all.map((it) => it.content), ['I begin', 'I could not go on: out of paper']);
  await late.end();
});

test('two mentions at once are worked on at once, each answered for itself', async () => {
  const both = deferred();
  let begun = 0;
  const busy = await connected(owner, 'busy', async (wake) => {
    begun += 1;
    if (begun === 2) both.resolve();
    await both.promise;
    await busy.agent.reply(wake, `re: ${wake.text}`);
  });
  const [one, two] = await Promise.all(['a', 'b'].map((it) => owner.send(owner.general, `root ${it}`)));
  const asked = await Promise.all([one, two].map((root) => owner.send(owner.general, `@busy ${root.content}`, { thread_id: root.id })));
  for (const question of asked) {
    const over = await settled(owner, question);
    const reply = (await said(owner, busy.id)).find((it) => it.id === over.reply_id);
    assert.deepEqual([reply.content, reply.thread_id], [`re: ${question.content}`, question.thread_id]);
  }
  assert.equal((await said(owner, busy.id)).length, 2);
  await busy.end();
});

test('a stream grows where people see it and becomes the answer', async () => {
  const more = deferred();
  const writer = await connected(owner, 'writer', async (wake) => {
    const stream = await writer.agent.stream(wake);
    stream.write('Once ');
    await more.promise;
    stream.write('upon a time');
    await stream.end();
  });
  const asked = await owner.send(owner.general, '@writer tell');
  const text = async () => (await said(owner, writer.id))[0]?.content;
  await until(async () => (await owner.call('GET', `/v1/channels/${owner.general.id}/runs`)).length === 1, 'a run');
  more.resolve();
  assert.equal((await settled(owner, asked)).state, 'answered');
  assert.equal(await text(), 'Once upon a time');
  await writer.end();
});

test('people stop a stream: writing fails, and the run is cancelled', async () => {
  const failed = deferred();
  const endless = await connected(owner, 'endless', async (wake) => {
    const stream = await endless.agent.stream(wake);
    try {
      await until(() => (stream.write('.'), false), 'the stop');
    } catch (error) {
      failed.resolve(error);
      throw error;
    }
  });
  const asked = await owner.send(owner.general, '@endless go on');
  const run = await until(async () => (await owner.call('GET', `/v1/channels/${owner.general.id}/runs`)).find((it) => it.agent_name === 'endless'), 'a run');
  await owner.call('POST', `/v1/runs/${run.id}/stop`);
  assert.ok((await failed.promise) instanceof StreamStopped);
  assert.equal((await settled(owner, asked)).state, 'cancelled');
  await endless.end();
});

test('a handler that throws in the middle of a stream leaves a failed run', async () => {
  const torn = await connected(owner, 'torn', async (wake) => {
    (await torn.agent.stream(wake)).write('half of it');
    throw new Error('no more ink');
  });
  const over = await settled(owner, await owner.send(owner.general, '@torn write'));
  assert.deepEqual([over.state, over.why], ['failed', 'no more ink']);
  await torn.end();
});

test('ask waits for what people decide, and hears the note', async () => {
  const asker = await connected(owner, 'asker', async (wake) => {
    const { approved, note } = await asker.agent.ask(wake, 'deploy', { service: 'api' });
    await asker.agent.reply(wake, `${approved}: ${note}`);
  });
  for (const [approved, note] of [[true, 'go'], [false, 'not today']]) {
    const asked = await owner.send(owner.general, `@asker deploy, ${note}`);
    const open = await until(async () => (await owner.call('GET', `${owner.ws}/approvals?status=pending`))[0], 'a question');
    assert.deepEqual([open.action, JSON.parse(open.payload), open.asker_id], ['deploy', { service: 'api' }, owner.session.member_id]);
    await owner.call('PATCH', `/v1/approvals/${open.id}`, { approved, note });
    const over = await settled(owner, asked);
    assert.equal((await said(owner, asker.id)).find((it) => it.id === over.reply_id).content, `${approved}: ${note}`);
    assert.ok((await owner.call('GET', `/v1/approvals/${open.id}`)).used_at);
  }
  await asker.end();
});

test('wait gets what is said next, once: no second wake for it', async () => {
  let woken = 0;
  const guide = await connected(owner, 'guide', async (wake) => {
    woken += 1;
    await guide.agent.reply(wake, 'Which branch?');
    const answer = await guide.agent.wait(wake);
    await guide.agent.reply(answer, `Building ${answer.content}`);
  });
  await owner.send(owner.general, '@guide build');
  const question = await until(async () => (await said(owner, guide.id))[0], 'the question');
  await owner.send(owner.general, 'main', { thread_id: question.id });
  const built = await until(async () => (await said(owner, guide.id))[1], 'the second answer');
  assert.deepEqual([built.content, built.thread_id], ['Building main', question.id]);
  // Whatever was woken by "main" is over: nothing is open, and the handler ran once.
  await until(async () => (await owner.call('GET', `/v1/channels/${owner.general.id}/deliveries?limit=50`)).every((it) => !['queued', 'leased', 'admitted'].includes(it.state)), 'nothing open');
  assert.equal(woken, 1);
  await guide.end();
});

test('wait gives up after its time', async () => {
  const failed = deferred();
  const lonely = await connected(owner, 'lonely', (wake) => lonely.agent.wait(wake, { timeoutMs: 20 }).catch(failed.resolve));
  await owner.send(owner.general, '@lonely');
  assert.ok((await failed.promise) instanceof WaitTimeout);
  await lonely.end();
});

test('tasks are claimed by one, changed and done; an assigned one wakes', async () => {
  const seen = deferred();
  const worker = await connected(owner, 'worker', async (wake) => {
    await worker.agent.tasks.update(wake.task.id, { status: 'in_progress' });
    seen.resolve(await worker.agent.tasks.done(wake.task.id));
  });
  const rival = await connected(owner, 'rival', () => {});
  const free = await owner.call('POST', `${owner.ws}/tasks`, { title: 'free', channel_id: owner.general.id });
  assert.equal((await worker.agent.tasks.claim(free.id)).assigned_to, worker.id);
  await assert.rejects(rival.agent.tasks.claim(free.id), (error) => error instanceof Refused && error.code === 'CONFLICT');
  assert.deepEqual((await worker.agent.tasks.list({ status: 'in_progress' })).map((it) => it.title), ['free']);
  await owner.call('POST', `${owner.ws}/tasks`, { title: 'given', channel_id: owner.general.id, assigned_to: worker.id });
  assert.deepEqual([(await seen.promise).title, (await seen.promise).status], ['given', 'done']);
  await worker.end();
  await rival.end();
});

test('files are uploaded, posted and downloaded', async () => {
  const clerk = await connected(owner, 'clerk', async (wake) => {
    const file = await clerk.agent.files.upload('notes.txt', 'remember the milk');
    await clerk.agent.reply(wake, 'here', { file: file.id });
  });
  const over = await settled(owner, await owner.send(owner.general, '@clerk the notes'));
  const posted = (await said(owner, clerk.id)).find((it) => it.id === over.reply_id);
  assert.equal(new TextDecoder().decode(await clerk.agent.files.download(posted.file_id)), 'remember the milk');
  await clerk.end();
});

test('a text that is too large is refused here, and the connection stays', async () => {
  const large = await connected(owner, 'large', async (wake) => {
    await assert.rejects(large.agent.reply(wake, 'x'.repeat(70_000)), (error) => error instanceof Refused && error.code === 'TOO_LARGE');
    await assert.rejects(large.agent.reply(wake, 'x'.repeat(10_001)), (error) => error instanceof Refused && /too long/.test(error.message));
    await large.agent.reply(wake, 'short then');
  });
  const over = await settled(owner, await owner.send(owner.general, '@large'));
  assert.equal(over.state, 'answered');
  assert.deepEqual(large.lines, []);
  await large.end();
});
