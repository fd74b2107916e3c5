// What goes wrong: the network, the hub, the session, long texts, large and hostile things.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Cable } from './support/cable.mjs';
import { Hub, PASSWORD } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

let hub, browser, owner, ann;

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
  ann = await browser.open(hub, { as: owner });
  await ann.channel(owner.general);
});
after(() => close(browser, hub));

const texts = async () => (await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=200`)).map((it) => it.content).reverse();

step('22 paste 12,000 characters: a clear limit, the text kept, offered as a file', async () => {
  await ann.composer.fill('x'.repeat(12_000));
  await ann.page.getByText('12,000 of 10,000').waitFor();
  assert.equal((await ann.composer.inputValue()).length, 12_000);
  await ann.button(/as a file/i).click();
  await ann.page.getByRole('list', { name: 'Files to send' }).getByText(/\.txt|\.md/).waitFor();
  await ann.composer.fill('a long text');
  await ann.button('Send', { exact: true }).click();
  await ann.message('a long text').waitFor();
  await until(async () => (await owner.call('GET', `${owner.ws}/files`)).some((file) => file.size === 12_000), 'the file is there');
});

step('22 drop an image', async () => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  const transfer = await ann.page.evaluateHandle((data) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], 'dot.png', { type: 'image/png' }));
    return transfer;
  }, png.toString('base64'));
  for (const kind of ['dragenter', 'dragover', 'drop']) await ann.composer.dispatchEvent(kind, { dataTransfer: transfer });
  await ann.page.getByRole('list', { name: 'Files to send' }).getByText('dot.png').waitFor();
  await ann.composer.fill('a picture');
  await until(() => ann.button('Send', { exact: true }).isEnabled(), 'the upload is over');
  await ann.button('Send', { exact: true }).click();
  await ann.log.getByRole('img', { name: 'dot.png' }).waitFor();
});

step('a file over the limit is refused with a sentence', async () => {
  const large = join(hub.home, 'large.bin');
  writeFileSync(large, Buffer.alloc(33 * 1024 * 1024));
  await ann.page.locator('input[type=file]').first().setInputFiles(large);
  await ann.page.getByText(/is more than the .* a file may have/).first().waitFor();
  await ann.button('Remove large.bin').click();
});

step('a message with hostile Markdown and a hostile file name stays text', async () => {
  await ann.page.evaluate(() => (window.hacked = false));
  const hostile = '<img src=x onerror="window.hacked=1"> [a](javascript:window.hacked=1) <script>window.hacked=1</script> ![b](https://evil.example/x.png) **bold**';
  await owner.send(owner.general, hostile, { content_type: 'markdown' });
  await ann.log.getByText('bold').last().waitFor();
  const form = new FormData();
  form.set('channel_id', owner.general.id);
  form.set('file', new Blob(['x'], { type: 'text/html' }), '"><img src=x onerror=window.hacked=1>.html');
  const upload = await fetch(`${hub.url}${owner.ws}/files`, { method: 'POST', headers: { authorization: `Bearer ${owner.session.token}` }, body: form });
  const file = await upload.json();
  await owner.send(owner.general, 'look at this file', { file_id: file.id });
  await ann.message('look at this file').waitFor();
  assert.equal(await ann.page.evaluate(() => window.hacked), false);
  assert.equal(await ann.log.locator('script, img[src^="https:"], a[href^="javascript:"]').count(), 0);
});

step('no request goes to another host', async () => {
  const foreign = [];
  ann.page.on('request', (request) => !request.url().startsWith(hub.url) && !/^(blob|data):/.test(request.url()) && foreign.push(request.url()));
  await ann.page.reload();
  await ann.composer.waitFor();
  assert.deepEqual(foreign, []);
});

step('what was sent is stored, its answer is late, and the page is loaded again: it is shown once', async () => {
  // Without a socket nothing but the answer tells that it was stored.
  const page = await browser.open(hub, { as: owner, routed: true });
  await page.page.addInitScript(() => {
    delete window.SharedWorker;
    window.WebSocket = class {
      send() {}
      close() {}
    };
  });
  let letGo;
  const held = new Promise((done) => (letGo = done));
  await page.page.route('**/messages', async (route) => {
    const response = await route.fetch();
    await held;
    // Whoever asked may be gone.
    await route.fulfill({ response }).catch(() => {});
  });
  await page.channel(owner.general);
  await page.write('answered late');
  await until(async () => (await texts()).includes('answered late'), 'the hub has it');
  await page.page.reload();
  await page.message('answered late').waitFor();
  assert.equal(await page.log.getByText('answered late').count(), 1);
  letGo();
  await page.page.unrouteAll({ behavior: 'wait' });
  assert.equal((await texts()).filter((it) => it === 'answered late').length, 1);
  await page.close();
});

/** In the hub and on the page: each of them once, in the order in which they were typed. */
async function arrived(page, typed, meanwhile) {
  await page.message(meanwhile).waitFor();
  const all = await until(async () => {
    const said = await texts();
    return said.includes(typed.at(-1)) ? said : null;
  }, 'what was typed arrives');
  assert.deepEqual(all.filter((it) => typed.includes(it)), typed);
  for (const text of [...typed, meanwhile]) {
    await until(async () => (await page.log.locator('article').filter({ hasText: text }).count()) === 1, `${text}, once`);
  }
}

step('23 pull the network cable for a minute, type, reconnect: nothing lost or doubled', async () => {
  const cable = await Cable.to(hub);
  // The page's time can be moved; that of a worker cannot, so this browser has none.
  const page = await browser.open(cable, { as: owner });
  await page.page.addInitScript(() => delete window.SharedWorker);
  await page.page.clock.install();
  await page.channel(owner.general);
  await owner.send(owner.general, 'before the cut');
  await page.message('before the cut').waitFor();
  cable.pull();
  const typed = ['in the dark one', 'in the dark two'];
  await page.write(typed[0]);
  await owner.send(owner.general, 'said meanwhile');
  // The silence is noticed after a while, and then told with something to do about it.
  await until(async () => {
    await page.page.clock.runFor(5_000);
    return page.button('Retry now').isVisible();
  }, 'the page notices');
  await page.page.clock.runFor(60_000);
  await page.write(typed[1]);
  assert.equal(await page.log.getByText('said meanwhile').count(), 0);
  cable.plug();
  await until(async () => {
    await page.page.clock.runFor(5_000);
    return !(await page.button('Retry now').isVisible());
  }, 'the page comes back');
  await arrived(page, typed, 'said meanwhile');
  await page.close();
  cable.end();
});

step('23 the browser says that it is offline: what is typed waits and is sent once', async () => {
  await ann.page.context().setOffline(true);
  const typed = ['offline one', 'offline two'];
  for (const text of typed) await ann.write(text);
  await owner.send(owner.general, 'in between');
  await ann.page.context().setOffline(false);
  await arrived(ann, typed, 'in between');
});

step('a restart of the hub: the page says so, comes back, and loses nothing', async () => {
  await ann.composer.fill('a draft that stays');
  await hub.kill();
  await ann.page.getByText(/Reconnecting|cannot be reached|No connection/i).first().waitFor();
  await ann.audit('without a connection');
  await hub.run();
  await owner.send(owner.general, 'after the restart');
  await ann.message('after the restart').waitFor();
  assert.equal(await ann.composer.inputValue(), 'a draft that stays');
  await ann.composer.fill('');
});

step('an expired session keeps the draft and asks for the password in place', async () => {
  await ann.composer.fill('half a sentence');
  await owner.call('POST', '/v1/auth/logout', {});
  await ann.page.getByRole('dialog').waitFor();
  await ann.audit('signing in again');
  await ann.page.getByRole('dialog').getByLabel('Password').fill(PASSWORD);
  await ann.page.getByRole('dialog').getByRole('button', { name: /Sign in|Continue/ }).click();
  await ann.page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(await ann.composer.inputValue(), 'half a sentence');
  await ann.composer.press('Enter');
  await ann.message('half a sentence').waitFor();
  const fresh = await hub.call('POST', '/v1/auth/login', { body: { name: 'ann', password: PASSWORD } });
  owner.session = fresh;
});

step('a wrong password is told, and too many are locked with a time', async () => {
  const guest = await browser.open(hub);
  await guest.go('/signin');
  await guest.audit('signing in');
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await guest.signIn('ann', `wrong ${attempt}`);
    await guest.page.locator('#signin-error').waitFor();
    await until(() => guest.button('Sign in').isEnabled(), 'the answer');
  }
  await guest.signIn('ann', 'wrong again');
  await guest.page.getByRole('alert').getByText(/Try again in/).waitFor();
  await guest.close();
});
