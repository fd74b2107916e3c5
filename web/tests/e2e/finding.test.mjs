// Finding things again: jumps, threads, search, files; and speaking in an agent's thread without waking it.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import { WITH_CLAUDE, hosted } from './support/engine.mjs';
import { Hub } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

const MARKS = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot'];
const PNG = picture(300).toString('base64');

/** A grey picture, 1 px wide and as high as wanted. */
function picture(height) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(1, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', head), chunk('IDAT', deflateSync(Buffer.alloc(height * 2, 0x80).map((byte, at) => (at % 2 ? byte : 0)))), chunk('IEND', Buffer.alloc(0))]);
}

let hub, browser, owner, bob, ann, marked;

before(async () => {
  hub = await Hub.start(WITH_CLAUDE);
  browser = await Browser.launch();
  owner = await hub.owner();
  bob = await owner.colleague('bob');
  await owner.call('POST', `${owner.ws}/channels/${owner.general.id}/members`, { member_id: bob.session.member_id });
  await hosted(owner, 'coder');
  ann = await browser.open(hub, { as: owner });
});
after(() => close(browser, hub));

const runs = () => owner.call('GET', `/v1/channels/${owner.general.id}/runs?limit=100`);
const dialog = () => ann.page.getByRole('dialog');

/** A picture in the channel: it takes its place only when it has been fetched, after everything else. */
async function showPicture() {
  const form = new FormData();
  form.set('channel_id', owner.general.id);
  form.set('file', new Blob([picture(300)], { type: 'image/png' }), 'picture.png');
  const stored = await fetch(`${hub.url}${owner.ws}/files`, { method: 'POST', headers: { authorization: `Bearer ${bob.session.token}` }, body: form });
  await bob.send(owner.general, 'a picture', { file_id: (await stored.json()).id });
}

/** A channel with cards and pictures: above, between and below six marked messages. */
async function busyChannel() {
  marked = [];
  for (const [at, word] of MARKS.entries()) {
    for (let line = 0; line < 9; line += 1) await bob.send(owner.general, `talk about ${word}, line ${line}\n\n- one\n- two`, { content_type: 'markdown' });
    await showPicture();
    await showPicture();
    await owner.send(owner.general, `@coder watch this ${word}`);
    marked.push(await bob.send(owner.general, `marked ${word} here`));
    // What is said in quick succession is one wake: each is to have its own run.
    await until(async () => (await runs()).filter((it) => it.ended_at).length > at, 'the run is over');
  }
}

/** The runs are the cards: they come after the messages. Pictures come last. */
const cards = async () => {
  await ann.log.getByRole('button', { name: /^Run of coder/ }).first().waitFor();
  await until(() => ann.log.locator('img').evaluateAll((all) => all.length > 3 && all.every((it) => it.naturalHeight > 0)), 'the pictures are there');
};

/** Where a row is, once nothing moves any more: how far its middle is from that of the list, in heights of the list. */
async function placeOf(list, id) {
  return ann.page.evaluate(async ([selector, id]) => {
    const frame = document.querySelector(selector);
    const top = () => frame.querySelector(`[data-id="${id}"]`)?.getBoundingClientRect().top;
    for (let still = 0, last; still < 30; ) {
      await new Promise((done) => requestAnimationFrame(done));
      const now = top();
      still = now !== undefined && now === last ? still + 1 : 0;
      last = now;
    }
    const [row, box] = [frame.querySelector(`[data-id="${id}"]`).getBoundingClientRect(), frame.getBoundingClientRect()];
    return { seen: row.top >= box.top - 1 && row.bottom <= box.bottom + 1, off: Math.abs(row.top + row.height / 2 - box.top - box.height / 2) / box.height };
  }, [list, id]);
}

step('a jump lands on its message, also in a channel with cards', async () => {
  await busyChannel();
  for (const message of marked) {
    await ann.go('/agents');
    await ann.page.getByRole('article', { name: 'coder' }).waitFor();
    await ann.go(`/c/${owner.general.id}/${message.id}`);
    await ann.log.locator(`[data-id="${message.id}"]`).waitFor();
    await cards();
    const { seen } = await placeOf('[role=log]', message.id);
    assert.ok(seen, `${message.content} is on the screen`);
  }
});

step('a jump from the search lands, one after the other in the same page', async () => {
  for (const [at, message] of marked.entries()) {
    await ann.go(`/search?q=${encodeURIComponent(`marked ${MARKS[at]}`)}`);
    await ann.page.getByRole('article').getByRole('link').first().click();
    await ann.log.locator(`[data-id="${message.id}"]`).waitFor();
    await cards();
    assert.ok((await placeOf('[role=log]', message.id)).seen, message.content);
  }
});

step('whoever scrolls after a jump is not pulled back', async () => {
  const message = marked[2];
  await ann.go(`/c/${owner.general.id}/${message.id}`);
  await ann.log.locator(`[data-id="${message.id}"]`).waitFor();
  await ann.log.hover();
  await ann.page.mouse.wheel(0, -900);
  const moved = await until(() => ann.log.evaluate((list, id) => list.querySelector(`[data-id="${id}"]`).getBoundingClientRect().top > 500 && list.scrollTop, message.id), 'it scrolled');
  await bob.send(owner.general, 'something new below');
  const { seen } = await placeOf('[role=log]', message.id);
  assert.ok(moved !== undefined && !seen, 'it stays where it was scrolled to');
});

step('a jump to a reply opens its thread at the reply', async () => {
  const root = await owner.send(owner.general, 'a long thread');
  let wanted;
  for (let line = 0; line < 40; line += 1) {
    const reply = await bob.send(owner.general, `reply ${line}\n\nwith a second paragraph`, { thread_id: root.id, content_type: 'markdown' });
    if (line === 12) wanted = reply;
  }
  await ann.go(`/c/${owner.general.id}/${wanted.id}`);
  await ann.page.getByRole('log', { name: 'Thread' }).locator(`[data-id="${wanted.id}"]`).waitFor();
  assert.ok((await placeOf('[role=log][aria-label=Thread]', wanted.id)).seen);
  await ann.page.keyboard.press('Escape');
});

step('threads have a view of their own, with what is new in them', async () => {
  const root = await bob.send(owner.general, 'shall we meet?');
  await owner.send(owner.general, 'at noon', { thread_id: root.id });
  await bob.send(owner.general, 'better at one', { thread_id: root.id });
  await ann.go('/threads');
  const card = ann.page.getByRole('article').filter({ hasText: 'shall we meet?' });
  await card.getByText('1 new').waitFor();
  await card.getByText('better at one').waitFor();
  await ann.audit('the threads');
  await bob.send(owner.general, 'or at two', { thread_id: root.id });
  await card.getByText('2 new').waitFor();
  await card.getByRole('link').click();
  await ann.page.getByRole('log', { name: 'Thread' }).getByText('or at two').waitFor();
  await ann.go('/threads');
  await card.getByText('or at two').waitFor();
  assert.equal(await card.getByText(/new$/).count(), 0);
});

step('of a thread one began, the hub knows what was read, for every device', async () => {
  const root = await owner.send(owner.general, 'who is in?');
  await bob.send(owner.general, 'I am', { thread_id: root.id });
  const unread = async () => (await owner.call('GET', '/v1/threads')).find((it) => it.root.id === root.id).unread_count;
  assert.equal(await unread(), 1);
  const badge = ann.page.getByRole('navigation', { name: 'Main' }).first().getByRole('link', { name: /^Threads/ });
  await badge.getByText(/\d/).waitFor();
  await ann.page.getByRole('article').filter({ hasText: 'who is in?' }).getByRole('link').click();
  await until(async () => (await unread()) === 0, 'it is read');
});

const search = async (text) => {
  await ann.go(`/search?q=${encodeURIComponent(text)}`);
  await ann.page.getByRole('status').filter({ hasText: /message|Nothing/ }).waitFor();
  return ann.page.locator('article.hit .text').allInnerTexts();
};

step('21 search a word from minute two, by its beginning, and by who, where, what and when', async () => {
  const plans = await owner.channel('plans');
  await owner.send(plans, 'the deployment is on Friday');
  await bob.send(owner.general, 'deploying now, see https://example.org');
  assert.equal((await search('deploy')).length, 2, 'a beginning');
  assert.deepEqual(await search('deploy from:bob'), ['deploying now, see https://example.org']);
  assert.deepEqual(await search('deploy in:plans'), ['the deployment is on Friday']);
  assert.deepEqual(await search('in:plans'), ['the deployment is on Friday'], 'a condition alone');
  assert.deepEqual(await search('from:bob has:link'), ['deploying now, see https://example.org'], 'two of them');
  assert.deepEqual(await search('deploy before:2020-01-01'), []);
  assert.deepEqual(await search('in:plans after:2020-01-01'), ['the deployment is on Friday']);
  await ann.audit('what was found');
  await ann.go('/search?q=from%3Anobody');
  await ann.page.getByText('There is nobody called nobody.').waitFor();
});

const files = (...names) => names.map((name) => ({ name, mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') }));

step('several files are one message, and pictures are looked through with the arrows', async () => {
  const gallery = await owner.channel('gallery');
  await ann.channel(gallery);
  await ann.page.locator('input[type=file]').first().setInputFiles(files('one.png', 'two.png', 'blueprint.png'));
  await until(async () => (await ann.page.getByRole('list', { name: 'Files to send' }).getByRole('progressbar').count()) === 0, 'all are uploaded');
  await ann.write('three at once');
  const message = ann.message('three at once');
  await message.getByRole('button', { name: 'Show the picture blueprint.png' }).waitFor();
  assert.equal(await message.getByRole('button', { name: /^Show the picture/ }).count(), 3);
  const sent = (await owner.call('GET', `/v1/channels/${gallery.id}/messages?limit=3`)).filter((it) => it.content.includes('three at once') || it.file_id);
  assert.equal(sent.length, 1, 'one message');
  await message.getByRole('button', { name: 'Show the picture one.png' }).click();
  await dialog().getByText('one.png, 1 of 3').waitFor();
  await ann.audit('a picture');
  await ann.page.keyboard.press('ArrowRight');
  await dialog().getByText('two.png, 2 of 3').waitFor();
  await ann.page.keyboard.press('ArrowLeft');
  await ann.page.keyboard.press('ArrowLeft');
  await dialog().getByText('blueprint.png, 3 of 3').waitFor();
  await ann.page.keyboard.press('Escape');
  await dialog().waitFor({ state: 'detached' });
});

step('a file is found by its name', async () => {
  await ann.go('/search?q=bluepr');
  await ann.page.getByRole('article').getByText('three at once').waitFor();
  await ann.go('/search?q=has%3Afile%20from%3Aann');
  await ann.page.getByRole('article').getByText('three at once').waitFor();
});

step('22 drop an image anywhere on the channel, and paste one', async () => {
  await ann.channel(owner.general);
  const list = ann.page.getByRole('list', { name: 'Files to send' });
  const give = (type, name) => ann.page.evaluate(([type, name, data]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(data), (it) => it.charCodeAt(0))], name, { type: 'image/png' }));
    const event = type === 'paste' ? new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true, cancelable: true }) : new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true });
    (type === 'paste' ? document.querySelector('.composer textarea') : document.querySelector('[role=log]')).dispatchEvent(event);
  }, [type, name, PNG]);
  await give('drop', 'dropped.png');
  await list.getByText('dropped.png').waitFor();
  await give('paste', 'pasted.png');
  await list.getByText('pasted.png').waitFor();
  await until(async () => (await list.getByRole('progressbar').count()) === 0, 'both are uploaded');
  await ann.composer.press('Enter');
  await ann.log.getByRole('button', { name: 'Show the picture pasted.png' }).waitFor();
});

step('people talk in an agent\'s thread without waking it', async () => {
  await ann.write('@coder start a talk');
  await ann.log.getByText('I read: start a talk').first().waitFor();
  const asked = ann.message('start a talk');
  await asked.focus();
  await asked.press('t');
  const field = ann.page.locator('[data-region=panel-composer] textarea');
  await field.fill('only between us');
  const wakes = ann.page.locator('[data-region=panel-composer]').getByRole('switch');
  await wakes.waitFor();
  assert.equal(await wakes.getAttribute('aria-checked'), 'true');
  await wakes.click();
  await ann.page.getByText('For people only: no agent is woken.').waitFor();
  await ann.audit('a reply that wakes nobody');
  const before = (await runs()).length;
  await field.press('Enter');
  await ann.page.getByRole('log', { name: 'Thread' }).getByText('only between us').waitFor();
  // It stays so in this thread, also for the next one; then it is switched back, and the agent answers.
  await field.fill('still between us');
  assert.equal(await wakes.getAttribute('aria-checked'), 'false');
  await field.press('Enter');
  await ann.page.getByRole('log', { name: 'Thread' }).getByText('still between us').waitFor();
  await wakes.click();
  await field.fill('and now you');
  await field.press('Enter');
  await ann.page.getByRole('log', { name: 'Thread' }).getByText('I read: and now you').first().waitFor();
  assert.equal((await runs()).length, before + 1, 'one run for three replies');
});
