// The same kit in a browser, with the WebSocket and the fetch that are there.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { Hub, member, settled } from './support.mjs';

const DIST = join(import.meta.dirname, '..', 'dist');
const CHROME = process.env.CHROME ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

const DRIVER = join(import.meta.dirname, '../../../web/node_modules/playwright-core');
const missing = [CHROME ?? 'chromium', DRIVER].find((file) => !existsSync(file));

test('the kit runs in a browser', { skip: missing ? `there is no ${missing}` : false }, async () => {
  const { Browser } = await import('../../../web/tests/e2e/support/page.mjs');
  const hub = await Hub.start();
  const owner = await hub.owner();
  const { api_key: key } = await member(owner, 'inside');
  const browser = await Browser.launch();
  try {
    const { page } = await browser.open(hub, { routed: true });
    const file = (route) => readFileSync(join(DIST, basename(new URL(route.request().url()).pathname)), 'utf8');
    await page.route('**/kit/*', (route) => route.fulfill({ contentType: 'text/javascript', body: file(route) }));
    await page.goto(hub.url);
    await page.evaluate(async ([url, key]) => {
      const { Agent } = await import('/kit/index.js');
      const agent = new Agent({ url, key });
      agent.onMention(async (wake) => void (await agent.reply(wake, `from a browser: ${(await agent.me()).name}`)));
      void agent.run();
    }, [hub.url, key]);
    const over = await settled(owner, await owner.send(owner.general, '@inside where are you?'));
    const reply = await owner.call('GET', `/v1/messages/${over.reply_id}`);
    assert.equal(reply.content, 'from a browser: inside');
  } finally {
    await browser.end();
    await hub.end();
  }
});
