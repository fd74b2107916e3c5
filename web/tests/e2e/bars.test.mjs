// What the page may weigh, and how it keeps up.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Hub } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close } from './support/story.mjs';

const SCRIPT_BYTES = 100_000;
/** Lists of 500 channels, as they travel until the page has settled. */
const LIST_BYTES = 100_000;

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

test('the script of the first view is at most 100 kB compressed', async () => {
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

test('the lists of 500 channels come compressed, and only once', async () => {
  const big = await Hub.start({ MOOT_LIMITS__CHANNELS_PER_HOUR: '1000' });
  try {
    await listsOf(big);
  } finally {
    await big.end();
  }
});

async function listsOf(big) {
  const boss = await big.owner();
  for (let number = 0; number < 500; number += 20) await Promise.all(Array.from({ length: 20 }, (_, at) => boss.channel(`channel-${number + at}`, { topic: `What channel ${number + at} is about` })));
  const page = await browser.open(big, { as: boss, routed: true });
  const lists = [];
  page.page.on('response', (response) => {
    const list = /\/v1\/(workspaces\/\w+\/(members|channels)|users\/me\/dms)$/.exec(response.url())?.[1];
    if (list) lists.push({ list: list.split('/').at(-1), status: response.status(), bytes: Number(response.headers()['content-length'] ?? 0) });
  });
  await page.channel(boss.general);
  // Once by itself, once when the connection stands.
  const channels = await until(() => [lists.filter((it) => it.list === 'channels')].find((it) => it.length > 1), 'the list is asked for again');
  assert.deepEqual([...new Set(channels.slice(1).map((it) => it.status))], [304], JSON.stringify(lists));
  const bytes = lists.reduce((sum, it) => sum + it.bytes, 0);
  assert.ok(bytes > 5_000 && bytes <= LIST_BYTES, `${bytes} bytes`);
  await page.close();
}

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
