// Mentioned, but not here: nobody writes into the void without being told so.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { WITH_CLAUDE, hosted } from './support/engine.mjs';
import { Hub } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

let hub, browser, owner, ann, design;

before(async () => {
  hub = await Hub.start(WITH_CLAUDE);
  browser = await Browser.launch();
  owner = await hub.owner();
  await owner.colleague('bob');
  await hosted(owner, 'coder');
  design = await owner.channel('design');
  ann = await browser.open(hub, { as: owner });
  await ann.channel(design);
});
after(() => close(browser, hub));

const dialog = () => ann.page.getByRole('dialog');
const here = async (channel) => {
  const { member_ids } = await owner.call('GET', `${owner.ws}/channels/${channel.id}`);
  const all = await owner.call('GET', `${owner.ws}/members`);
  return all.filter((it) => member_ids.includes(it.id)).map((it) => it.name).sort();
};
const said = async (channel) => (await owner.call('GET', `/v1/channels/${channel.id}/messages`)).map((it) => it.content);

step('a mention of somebody who is not here says so while it is typed', async () => {
  await ann.composer.fill('@coder look');
  await ann.page.getByText('coder is not in #design and will not hear of it.').waitFor();
  await ann.composer.fill('@codr look');
  await ann.page.getByText('Nobody is called codr: this wakes nobody of that name.').waitFor();
});

step('a mention of an agent that does not listen says so', async () => {
  const robot = await owner.call('POST', `${owner.ws}/members`, { name: 'mute', type: 'agent' });
  await owner.call('POST', `${owner.ws}/channels/${design.id}/members`, { member_id: robot.id });
  await hub.call('PATCH', `/v1/channels/${design.id}/notification-preference`, { token: robot.api_key, body: { preference: 'none' } });
  await ann.composer.fill('@mute are you there');
  await ann.page.getByText('mute does not listen here and will not be woken.').waitFor();
  await owner.call('DELETE', `${owner.ws}/members/${robot.id}`);
});

step('an agent that is not here: cancel keeps the text and sends nothing', async () => {
  await ann.write('@coder look at this');
  await dialog().getByRole('heading', { name: 'coder is not in #design' }).waitFor();
  await ann.audit('mentioned, but not here');
  await ann.page.keyboard.press('Escape');
  await dialog().waitFor({ state: 'detached' });
  assert.equal(await ann.composer.inputValue(), '@coder look at this');
  assert.deepEqual(await said(design), []);
});

step('an agent that is not here: send without', async () => {
  await ann.composer.press('Enter');
  await dialog().getByRole('button', { name: 'Send without' }).click();
  await ann.message('look at this').waitFor();
  await until(async () => (await said(design)).includes('@coder look at this'), 'it is sent');
  assert.deepEqual(await here(design), ['ann']);
});

step('an agent that is not here: add and send, and it answers', async () => {
  await ann.write('@coder are you there?');
  await dialog().getByRole('button', { name: 'Add and send' }).click();
  await ann.log.getByText('I read: are you there?').first().waitFor();
  assert.deepEqual(await here(design), ['ann', 'coder']);
});

step('a person who is not here: add and send, and bob sees it', async () => {
  await ann.write('@bob and @coder, this is for you both');
  await dialog().getByRole('heading', { name: 'bob is not in #design' }).waitFor();
  await dialog().getByRole('button', { name: 'Add and send' }).click();
  // Shown only after the page itself knows that bob was added, which is later than the hub knows.
  await ann.message('this is for you both').waitFor();
  await until(async () => (await here(design)).join() === 'ann,bob,coder', 'bob is here');
});

step('whoever is here is not asked about', async () => {
  await ann.write('thanks @bob, that will do');
  await ann.message('thanks').waitFor();
  assert.equal(await dialog().count(), 0);
});

step('a new channel asks whom to bring, agents on top', async () => {
  await ann.button('New channel, or join one').click();
  await dialog().getByLabel('New channel').fill('launch');
  const names = await dialog().getByRole('group', { name: 'Whom to bring along' }).getByRole('checkbox').evaluateAll((boxes) => boxes.map((box) => box.closest('label').querySelector('bdi').textContent));
  assert.deepEqual(names, ['coder', 'bob']);
  await ann.audit('a new channel');
  await dialog().getByRole('checkbox', { name: /coder/ }).check();
  await dialog().getByRole('button', { name: 'Create' }).click();
  await ann.page.getByRole('heading', { name: 'launch', exact: true }).waitFor();
  const { id } = (await owner.call('GET', `${owner.ws}/channels`)).find((it) => it.name === 'launch');
  assert.deepEqual(await here({ id }), ['ann', 'coder']);
});

step('an agent made with a key joins the channel of one\'s choice', async () => {
  await ann.go('/agents');
  await ann.button('With a key…').click();
  await dialog().getByLabel('Name').fill('robot');
  await dialog().getByLabel('Channel').selectOption({ label: '#design' });
  await ann.audit('an agent with a key');
  await dialog().getByRole('button', { name: 'Make its key' }).click();
  await dialog().getByText('It is shown this once').waitFor();
  assert.ok((await here(design)).includes('robot'));
  assert.ok(!(await here(owner.general)).includes('robot'));
});
