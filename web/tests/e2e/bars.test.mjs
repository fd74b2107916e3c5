// What the page may weigh, and how it keeps up.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Hub } from './support/hub.mjs';
import { Browser } from './support/page.mjs';
import { close } from './support/story.mjs';

const SCRIPT_BYTES = 250_000;

let hub, browser, owner;

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
});
after(() => close(browser, hub));

/** The bytes of script as they travel, of everything that was asked for until the field is there. */
async function script(page, path, field) {
  const asked = new Set();
  page.page.on('request', (request) => /\.js($|\?)/.test(request.url()) && asked.add(request.url()));
  await page.go(path);
  await page.page.locator(field).first().waitFor();
  await page.page.waitForFunction(() => performance.getEntriesByType('resource').every((it) => it.responseEnd > 0));
  const sizes = [...asked].map(async (url) => Number((await fetch(url, { method: 'HEAD', headers: { 'accept-encoding': 'br' } })).headers.get('content-length')));
  return (await Promise.all(sizes)).reduce((sum, it) => sum + it, 0);
}

test('the script of the first view is at most 250 kB compressed', async () => {
  const visitor = await browser.open(hub, { serviceWorkers: 'block' });
  const first = await script(visitor, '/signin', '#name');
  assert.ok(first > 10_000 && first <= SCRIPT_BYTES, `signing in: ${first} bytes`);
  await visitor.close();
  const member = await browser.open(hub, { as: owner, serviceWorkers: 'block' });
  const channel = await script(member, `/c/${owner.general.id}`, 'textarea');
  assert.ok(channel > 20_000 && channel <= SCRIPT_BYTES, `a channel: ${channel} bytes`);
  await member.close();
});

test('files with a hash are kept for ever, the document is not, and both come compressed', async () => {
  const document = await fetch(`${hub.url}/`, { headers: { 'accept-encoding': 'br' } });
  assert.equal(document.headers.get('cache-control'), 'no-cache');
  const main = /\/assets\/index-[^"]+\.js/.exec(await document.text())[0];
  const file = await fetch(hub.url + main, { headers: { 'accept-encoding': 'br' } });
  assert.equal(file.headers.get('content-encoding'), 'br');
  assert.match(file.headers.get('cache-control'), /immutable/);
});

test('60 messages a second keep the page at work', async () => {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  const bob = await owner.colleague('bob');
  const sending = (async () => {
    for (let number = 0; number < 180; number += 1) {
      void bob.send(owner.general, `message ${number}`);
      await new Promise((done) => setTimeout(done, 1000 / 60));
    }
  })();
  await sending;
  await page.message('message 179').waitFor();
  const shown = await page.log.locator('article').count();
  assert.ok(shown <= 400, `${shown} messages are in the document`);
  await page.close();
});
