// Every view passes the accessibility audit in light and dark and on a phone, and fits on 360 px.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Hub } from './support/hub.mjs';
import { Browser } from './support/page.mjs';
import { close } from './support/story.mjs';

let hub, browser, owner;

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
  const bob = await owner.colleague('bob');
  await owner.send(owner.general, 'Good morning. `code`, **bold**, a [link](https://example.org)\n\n```js\nconst answer = 42;\n```', { content_type: 'markdown' });
  await bob.send(owner.general, 'Good morning @ann');
  await owner.call('POST', `${owner.ws}/tasks`, { title: 'A task', channel_id: owner.general.id, priority: 'urgent' });
  await owner.call('POST', `${owner.ws}/members`, { name: 'coder', type: 'agent' });
});
after(() => close(browser, hub));

const views = {
  channel: () => `/c/${owner.general.id}`,
  'needs you': () => '/needs-you',
  threads: () => '/threads',
  search: () => '/search',
  tasks: () => '/tasks',
  agents: () => '/agents',
  machines: () => '/machines',
  administration: () => '/admin',
  nowhere: () => '/no/such/view',
};

for (const look of ['light', 'dark', 'phone']) {
  test(`every view, ${look}`, async () => {
    const page = await browser.open(hub, { as: owner, phone: look === 'phone', colorScheme: look === 'dark' ? 'dark' : 'light' });
    for (const [name, path] of Object.entries(views)) {
      await page.go(path());
      await page.page.locator('#main h1, #main textarea').first().waitFor();
      await page.page.waitForFunction(() => !document.querySelector('.skeleton'));
      await page.audit(`${name}, ${look}`);
      const wide = await page.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name}, ${look}: ${wide} px wider than the screen`);
    }
    await page.close();
  });
}

test('the page can be installed, and its worker keeps nothing of the hub', async () => {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  const manifest = await page.page.evaluate(async () => (await fetch(document.querySelector('link[rel=manifest]').href)).json());
  assert.equal(manifest.display, 'standalone');
  await page.page.evaluate(() => navigator.serviceWorker.ready);
  await page.page.reload();
  await page.composer.waitFor();
  const kept = await page.page.evaluate(async () => {
    const store = await caches.open('folkmoot-page-1');
    return (await store.keys()).map((request) => new URL(request.url).pathname);
  });
  assert.ok(kept.some((path) => path.startsWith('/assets/')), kept.join(' '));
  assert.deepEqual(kept.filter((path) => /^\/(v1|ws|readyz)/.test(path)), []);
  await page.close();
});

test('keys reach every region', async () => {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  const seen = new Set();
  for (let press = 0; press < 6; press += 1) {
    await page.page.keyboard.press('F6');
    seen.add(await page.page.evaluate(() => document.activeElement.closest('[data-region]')?.dataset.region));
  }
  for (const region of ['nav', 'channels', 'messages', 'composer']) assert.ok(seen.has(region), `${region} among ${[...seen]}`);
  await page.close();
});
