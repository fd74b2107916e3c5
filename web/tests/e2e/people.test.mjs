// Two people at once: invitations, typing and presence, threads, search, tasks, calls.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Hub, Lark, PASSWORD } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

let hub, browser, owner, ann, bob;

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
  ann = await browser.open(hub, { as: owner });
  await ann.channel(owner.general);
});
after(() => close(browser, hub));

step('18 invite a colleague by link, both see typing and presence', async () => {
  await ann.go('/admin');
  await ann.button('Make a link').click();
  const link = await ann.page.getByLabel('Invitation link', { exact: true }).innerText();
  bob = await browser.open(hub);
  await bob.page.goto(link);
  await bob.page.getByRole('heading', { name: 'Join Acme' }).waitFor();
  await bob.audit('joining');
  await bob.page.getByLabel('Your name').fill('bob');
  await bob.page.getByLabel('Password').fill(PASSWORD);
  await bob.button('Join').click();
  await bob.composer.waitFor();
  await ann.page.getByText('no email, online').waitFor();
  // Without loading the page again: what is typed while nobody is connected is for nobody.
  await ann.page.getByRole('link', { name: /general/ }).first().click();
  await ann.composer.waitFor();
  await bob.composer.pressSequentially('I am', { delay: 20 });
  await ann.page.getByText(/bob (is writing|writes|is typing)/).waitFor();
  await bob.composer.press('Enter');
  await ann.message('I am').waitFor();
});

step('an invitation works once', async () => {
  const invite = await owner.call('POST', `${owner.ws}/invites`, {});
  await hub.call('POST', '/v1/auth/join', { body: { code: invite.code, name: 'carol', password: PASSWORD } });
  const late = await browser.open(hub);
  await late.go(`/join/${invite.code}`);
  await late.page.getByRole('heading', { name: 'This link does not work' }).waitFor();
  await late.audit('a link that is over');
  await late.close();
});

step('what one says the other sees, in the same order', async () => {
  await Promise.all([ann.write('from ann'), bob.write('from bob')]);
  for (const page of [ann, bob]) {
    await page.message('from ann').waitFor();
    await page.message('from bob').waitFor();
  }
  const order = (page) => page.log.locator('article').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id')));
  assert.deepEqual(await order(ann), await order(bob));
});

step('edits, reactions and deletions reach the other', async () => {
  await bob.write('a tpyo');
  await bob.message('a tpyo').waitFor();
  await bob.composer.press('ArrowUp');
  const box = bob.log.locator('textarea');
  await box.fill('a typo');
  await box.press('Enter');
  await ann.message('a typo').waitFor();
  const message = (await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=1`))[0];
  await owner.call('POST', `/v1/messages/${message.id}/reactions`, { emoji: '👍' });
  await bob.message('a typo').getByText('👍').waitFor();
});

step('what is offered is what the hub says, and a new role counts at once', async () => {
  const agent = await owner.call('POST', `${owner.ws}/members`, { name: 'coder', type: 'agent' });
  await owner.call('POST', `${owner.ws}/channels/${owner.general.id}/members`, { member_id: agent.id });
  const coder = await Lark.connect(hub, agent.api_key);
  await coder.ask('approval.request', { channel_id: owner.general.id, action: 'Bash', payload: '{}', kind: 'permission' });
  await bob.page.getByText('ann may decide this.').waitFor();
  const administration = bob.page.getByRole('link', { name: 'Administration' });
  assert.equal(await bob.button('Allow once').count(), 0);
  assert.equal(await administration.count(), 0);
  const { id } = (await owner.call('GET', `${owner.ws}/members`)).find((member) => member.name === 'bob');
  await owner.call('PATCH', `${owner.ws}/members/${id}`, { role: 'admin' });
  await bob.button('Allow once').waitFor();
  await administration.first().waitFor();
  await owner.call('PATCH', `${owner.ws}/members/${id}`, { role: 'member' });
  await bob.button('Allow once').waitFor({ state: 'detached' });
  await administration.first().waitFor({ state: 'detached' });
  await ann.button('Allow once').click();
  await bob.page.getByText('ann may decide this.').waitFor({ state: 'detached' });
  coder.close();
});

step('20 make a message a task and mark it done', async () => {
  await bob.write('write the release notes');
  const row = ann.message('write the release notes');
  await row.waitFor();
  await row.hover();
  await row.getByRole('button', { name: 'Make it a task' }).click();
  await ann.button('Create task').click();
  await bob.go('/tasks');
  const card = bob.page.getByRole('link', { name: /write the release notes/ });
  await card.waitFor();
  await bob.audit('the board');
  await card.click();
  await bob.button('I do it').click();
  await bob.page.getByLabel('State').selectOption('done');
  await bob.page.keyboard.press('Escape');
  const done = bob.page.getByRole('region', { name: 'Done' }).getByText('write the release notes');
  await done.waitFor();
  await ann.go('/tasks');
  await ann.page.getByRole('region', { name: 'Done' }).getByText('write the release notes').waitFor();
});

step('tasks are moved with keys and with the mouse', async () => {
  await ann.page.getByLabel('New task').fill('move me');
  await ann.button('Add').click();
  const card = () => ann.page.getByRole('link', { name: /move me/ });
  await card().focus();
  await ann.page.keyboard.press('Shift+ArrowRight');
  await ann.page.getByRole('region', { name: 'In progress' }).getByText('move me').waitFor();
  await card().dragTo(ann.page.getByRole('region', { name: 'In review' }));
  await ann.page.getByRole('region', { name: 'In review' }).getByText('move me').waitFor();
  const [task] = await until(async () => {
    const all = await owner.call('GET', `${owner.ws}/tasks?status=review`);
    return all.length ? all : null;
  }, 'the hub knows of the move');
  assert.equal(task.title, 'move me');
});

step('21 search a word from minute two', async () => {
  await ann.go('/search');
  await ann.page.getByRole('searchbox', { name: 'Search' }).fill('release');
  const found = ann.page.getByRole('link', { name: /write the release notes/ }).or(ann.page.getByText('write the release notes')).first();
  await found.waitFor();
  await ann.audit('search');
});

step('a direct message and a call between two browsers', async () => {
  const { id } = (await owner.call('GET', `${owner.ws}/members`)).find((it) => it.name === 'bob');
  const direct = await owner.call('POST', `${owner.ws}/dm`, { member_ids: [owner.session.member_id, id] });
  await ann.channel(direct);
  await bob.go('/');
  await ann.button('Call bob').click();
  await bob.page.getByRole('region', { name: 'Call with ann' }).waitFor();
  await bob.audit('a call that rings');
  await bob.button('Answer').click();
  for (const [page, peer] of [[ann, 'bob'], [bob, 'ann']]) {
    await page.page.getByRole('region', { name: `Call with ${peer}` }).getByText(/^\d+ s$/).waitFor();
  }
  await ann.button('Hang up').click();
  await bob.page.getByRole('region', { name: 'Call with ann' }).waitFor({ state: 'detached' });
});
