// Keys and small screens: what acts is what is selected, Tab is short, the focus stays, every view has its name.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Hub } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close } from './support/story.mjs';

let hub, browser, owner, bob;

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
  bob = await owner.colleague('bob');
  await owner.call('POST', `${owner.ws}/channels/${owner.general.id}/members`, { member_id: bob.session.member_id });
  for (let number = 0; number < 40; number += 1) await owner.channel(`channel-${number}`);
  for (let number = 0; number < 20; number += 1) await owner.send(owner.general, `line ${number} with a [link](https://example.org/${number}) and [another](https://example.org)`, { content_type: 'markdown' });
});
after(() => close(browser, hub));

const focused = (page) => page.page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.tagName);
/** Typing is over: letters are commands again. */
const quiet = (page) => page.page.evaluate(() => new Promise((done) => setTimeout(done, 1100)));

test('single keys act on the selected message, never on the one under the mouse', async () => {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  const hovered = page.message('line 18 ');
  const selected = page.message('line 16 ');
  await page.message('line 19 ').waitFor();
  await page.page.evaluate(() => document.activeElement?.blur());
  await hovered.hover();
  await hovered.getByRole('toolbar', { name: 'Message' }).waitFor();
  await quiet(page);
  await page.page.keyboard.press('e');
  assert.equal(await page.page.getByLabel('Edit the message').count(), 0, 'nothing is selected: nothing happens');
  await selected.focus();
  await hovered.hover();
  await quiet(page);
  await page.page.keyboard.press('e');
  assert.match(await page.page.getByLabel('Edit the message').inputValue(), /^line 16 /);
  await page.page.keyboard.press('Escape');
  await until(async () => /line 16 /.test(await focused(page)), 'the focus is back on the message');
  await page.close();
});

test('Tab comes to the field in few steps, however many channels and links there are', async () => {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  await page.message('line 19 ').waitFor();
  await page.page.evaluate(() => document.activeElement?.blur());
  const way = [];
  for (let press = 0; press < 30; press += 1) {
    await page.page.keyboard.press('Tab');
    way.push(await focused(page));
    if (/^Message #general/.test(way.at(-1))) break;
  }
  assert.match(way.at(-1), /^Message #general/, way.join(' → '));
  assert.ok(way.length <= 16, `${way.length} steps: ${way.join(' → ')}`);
  assert.equal(way.filter((it) => /line \d+ /.test(it)).length, 1, 'the list of messages is one step');
  await page.close();
});

test('Enter goes into a message, Tab stays in it, Escape comes back, Tab leaves the list', async () => {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  const row = page.message('line 10 ');
  await row.focus();
  await page.page.keyboard.press('Enter');
  const inside = () => page.page.evaluate(() => document.activeElement.closest('article')?.getAttribute('aria-label') ?? '');
  for (let press = 0; press < 12; press += 1) {
    assert.match(await inside(), /line 10 /);
    await page.page.keyboard.press('Tab');
  }
  await page.page.keyboard.press('Escape');
  await until(async () => /line 10 /.test(await focused(page)), 'back on the message');
  await page.page.keyboard.press('Tab');
  assert.match(await focused(page), /^Message #general/);
  await page.page.keyboard.press('Shift+Tab');
  assert.match(await focused(page), /line 10 /);
  await page.close();
});

test('Escape keeps the focus: in the field, and after a thread was closed', async () => {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  await page.composer.focus();
  await page.page.keyboard.press('Escape');
  assert.match(await focused(page), /^Message #general/);
  const row = page.message('line 12 ');
  await row.focus();
  await quiet(page);
  await page.page.keyboard.press('t');
  const field = page.page.locator('[data-region=panel-composer] textarea');
  await until(() => field.evaluate((it) => it === document.activeElement), 'the field of the thread has the focus');
  await page.page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  await until(async () => /line 12 /.test(await focused(page)), 'the focus is on the message again');
  await page.close();
});

test('arrows go through the channels of the list', async () => {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  const link = page.page.getByRole('navigation', { name: 'Channels' }).getByRole('link', { name: 'general' });
  await link.focus();
  await page.page.keyboard.press('ArrowUp');
  assert.match(await page.page.evaluate(() => document.activeElement.textContent), /channel-9/);
  await page.page.keyboard.press('Enter');
  await page.page.getByRole('heading', { name: 'channel-9', exact: true }).waitFor();
  await page.close();
});

test('every view has a title of its own', async () => {
  const page = await browser.open(hub, { as: owner });
  const titles = { [`/c/${owner.general.id}`]: '#general', '/needs-you': 'Needs you', '/threads': 'Threads', '/search': 'Search', '/tasks': 'Tasks', '/agents': 'Agents', '/machines': 'Machines and doors', '/admin': 'Administration' };
  for (const [path, title] of Object.entries(titles)) {
    await page.go(path);
    await until(async () => (await page.page.title()).replace(/^(• |\(\d+\) )/, '') === `${title} · Acme`, `${path} is called ${title}`);
  }
  const visitor = await browser.open(hub);
  await visitor.go('/signin');
  await until(async () => (await visitor.page.title()) === 'Sign in · Folkmoot', 'the door has its name');
  await visitor.close();
  await page.close();
});

test('a phone begins with a main part and a heading', async () => {
  const page = await browser.open(hub, { as: owner, phone: true });
  await page.go('/');
  const main = page.page.getByRole('main');
  await main.getByRole('heading', { level: 1, name: 'Acme' }).waitFor();
  assert.equal(await main.count(), 1);
  await main.getByRole('link', { name: 'general' }).waitFor();
  await page.audit('the first view of a phone');
  await page.close();
});

test('a search with long words and a wide table fit on a phone', async () => {
  const long = `needle ${'x'.repeat(300)}`;
  await owner.send(owner.general, `${long}\n\n| ${Array.from({ length: 12 }, (_, n) => `a wide column ${n}`).join(' | ')} |\n|${'---|'.repeat(12)}\n| ${Array.from({ length: 12 }, (_, n) => `value ${n}`).join(' | ')} |`, { content_type: 'markdown' });
  const page = await browser.open(hub, { as: owner, phone: true });
  for (const path of ['/search?q=needle', `/c/${owner.general.id}`, '/tasks', '/machines', '/admin', '/agents', '/threads']) {
    await page.go(path);
    await page.page.locator('h1, textarea').first().waitFor();
    await page.page.waitForFunction(() => !document.querySelector('.skeleton, main .spinner'));
    if (path.startsWith('/search')) await page.page.getByRole('article').first().waitFor();
    const wide = await page.page.evaluate(() => {
      const over = [...document.querySelectorAll('body *')].find((it) => it.getClientRects().length && it.getBoundingClientRect().right > innerWidth + 1 && !it.closest('.table-frame, pre, .board'));
      return over ? `${over.tagName}.${over.className}: ${over.textContent.slice(0, 60)}` : document.documentElement.scrollWidth > innerWidth ? 'the document' : '';
    });
    assert.equal(wide, '', `${path} fits`);
  }
  await page.close();
});
