// Keys, sessions and limits: what speaks for somebody, and what the hub refuses.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Hub, PASSWORD } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close } from './support/story.mjs';

let hub, browser, owner, ann;

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
  ann = await browser.open(hub, { as: owner });
});
after(() => close(browser, hub));

const dialog = () => ann.page.getByRole('dialog');

test('a machine gets a key that is shown once, and loses it', async () => {
  await ann.go('/machines');
  await ann.page.getByLabel('Another machine of yours').fill('laptop');
  await ann.page.getByLabel('Works as an agent with').selectOption('');
  await ann.button('Make a key').click();
  const command = await dialog().getByLabel('Command for that machine', { exact: true }).innerText();
  assert.match(command, /^MOOT_AGENTD__API_KEY=lm_[0-9a-f]{64} MOOT_AGENTD__SERVER=ws:\/\/\S+\/ws moot agentd$/);
  await ann.audit('the key of a machine');
  await dialog().getByRole('button', { name: 'I have kept it' }).click();
  const card = ann.page.getByRole('article', { name: 'laptop' });
  await card.getByText('offline').waitFor();
  for (const text of ['you', 'never', 'no agent yet']) await card.getByText(text, { exact: true }).waitFor();
  await ann.audit('machines');
  await card.getByRole('button', { name: /Revoke/ }).click();
  // Where the focus begins, Enter leaves everything as it is.
  await until(() => dialog().getByRole('button', { name: 'Cancel' }).evaluate((it) => it === document.activeElement), 'the focus is on Cancel');
  await ann.page.keyboard.press('Enter');
  await dialog().waitFor({ state: 'detached' });
  assert.equal((await owner.call('GET', `${owner.ws}/machines`)).length, 1);
  await card.getByRole('button', { name: /Revoke/ }).click();
  await dialog().getByRole('button', { name: 'Revoke', exact: true }).click();
  await card.waitFor({ state: 'detached' });
  assert.deepEqual(await owner.call('GET', `${owner.ws}/machines`), []);
});

test('a hub without keys of machines still says how another machine joins', async () => {
  const page = await browser.open(hub, { as: owner, routed: true });
  await page.page.route('**/machines', (route) => (route.request().resourceType() === 'document' ? route.continue() : route.fulfill({ status: 404, json: { error: 'no such route' } })));
  await page.go('/machines');
  await page.page.getByLabel('Command for another machine', { exact: true }).waitFor();
  assert.equal(await page.button('Make a key').count(), 0);
  await page.close();
});

test('what the workspace uses stands beside what it may', async () => {
  const page = await browser.open(hub, { as: owner, routed: true });
  const use = { workspace: { stored_bytes: { used: 950_000_000, limit: 1_000_000_000 }, members: { used: 3, limit: null } }, me: { uploads_per_minute: { used: 1, limit: 60 } } };
  await page.page.route('**/usage', (route) => route.fulfill({ json: use }));
  await page.go('/admin');
  const section = page.page.getByRole('region', { name: 'Use and limits' });
  await section.getByText('950 MB of 1.0 GB').waitFor();
  await section.getByText('uploads per minute').waitFor();
  assert.equal(await section.getByRole('progressbar').count(), 2);
  await page.audit('use and limits');
  await page.close();
});

test('the use that the hub counts is shown', async () => {
  await ann.go('/admin');
  await ann.page.getByRole('region', { name: 'Use and limits' }).getByRole('listitem').first().waitFor();
});

test('a limit of the hub is told in its words, and what was written is kept until it is sent', async () => {
  const page = await browser.open(hub, { as: owner, routed: true });
  await page.channel(owner.general);
  let refusals = 1;
  await page.page.route('**/v1/channels/*/messages', (route) => {
    if (route.request().method() !== 'POST' || refusals-- <= 0) return route.continue();
    // Long enough for a slow machine to show it: the page's clock goes by seconds, and says nothing in the first two.
    return route.fulfill({ status: 429, headers: { 'retry-after': '8' }, json: { error: 'too many messages at once; retry in 8 s', code: 'rate-limited' } });
  });
  await page.write('patience');
  await page.page.getByText('too many messages at once; retry in 8 s').first().waitFor();
  await page.message('patience').waitFor();
  const all = await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=50`);
  assert.equal(all.filter((it) => it.content === 'patience').length, 1);
  await page.close();
});

test('what the hub cannot take is told once, and the text stays for another try', async () => {
  const page = await browser.open(hub, { as: owner, routed: true });
  await page.channel(owner.general);
  let full = true;
  await page.page.route('**/v1/channels/*/messages', (route) => {
    if (route.request().method() !== 'POST' || !full) return route.continue();
    return route.fulfill({ status: 507, json: { error: 'the workspace holds all it may (1 GB)', code: 'quota' } });
  });
  await page.write('too much for now');
  await page.page.getByText('Not sent: the workspace holds all it may (1 GB)').waitFor();
  await page.page.reload();
  await page.page.getByText('Not sent: the workspace holds all it may (1 GB)').waitFor();
  full = false;
  await page.button('Try again').click();
  await page.message('too much for now').waitFor();
  await page.close();
});

test('a file that is refused is told in the words of the hub, and can be tried again', async () => {
  const page = await browser.open(hub, { as: owner, routed: true });
  await page.channel(owner.general);
  await page.page.route('**/files', (route) => route.fulfill({ status: 413, json: { error: 'you hold all the bytes you may', code: 'quota' } }));
  await page.page.locator('input[type=file]').first().setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('x') });
  await page.page.getByText('you hold all the bytes you may').waitFor();
  await page.page.unrouteAll();
  await page.button('Retry').click();
  await until(() => page.button('Send', { exact: true }).isEnabled(), 'the file is there');
  await page.close();
});

// Last: it changes the password.
test('the password is changed, and what else speaks for one ends unless it is kept', async () => {
  const login = () => hub.call('POST', '/v1/auth/login', { body: { name: 'ann', password: PASSWORD } });
  const [kept, other] = [await login(), await login()];
  const all = await hub.call('GET', '/v1/members/me/credentials', { token: kept.token });
  const { id } = all.sessions.find((it) => it.current);
  await ann.channel(owner.general);
  await ann.button('You and this page').click();
  await ann.page.getByRole('menuitem', { name: 'Password and sessions' }).click();
  await until(() => dialog().getByLabel('Current password').evaluate((it) => it === document.activeElement), 'one can type at once');
  await dialog().getByRole('checkbox').first().waitFor();
  await ann.audit('changing the password');
  await dialog().locator(`input[value="${id}"]`).check();
  await dialog().getByLabel('Current password').fill('not this one');
  await dialog().getByLabel('New password').fill('a new horse');
  await ann.button('Change the password').click();
  await dialog().getByRole('alert').waitFor();
  await dialog().getByLabel('Current password').fill(PASSWORD);
  await ann.button('Change the password').click();
  await ann.page.getByText(/The password is changed/).waitFor();
  const works = (token) => hub.call('GET', '/v1/members/me', { token }).then(() => true, () => false);
  assert.deepEqual([await works(kept.token), await works(other.token)], [true, false]);
  // This browser goes on as if nothing had happened.
  await ann.write('still here');
  await ann.message('still here').waitFor();
  assert.equal(await dialog().count(), 0);
});
