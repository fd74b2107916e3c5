// Tasks: they have a channel, their state follows the run, and a search leads to them.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { WITH_CLAUDE, hosted } from './support/engine.mjs';
import { Hub } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

let hub, browser, owner, ann, coder, plans;

before(async () => {
  hub = await Hub.start(WITH_CLAUDE);
  browser = await Browser.launch();
  owner = await hub.owner();
  coder = await hosted(owner, 'coder');
  plans = await owner.channel('plans');
  ann = await browser.open(hub, { as: owner });
  await ann.channel(owner.general);
});
after(() => close(browser, hub));

const dialog = () => ann.page.getByRole('dialog');
const tasks = () => owner.call('GET', `${owner.ws}/tasks`);
const task = async (title) => (await tasks()).find((it) => it.title === title);
const add = async (title) => {
  await ann.page.getByLabel('New task', { exact: true }).fill(title);
  await ann.button('Add', { exact: true }).click();
  return until(() => task(title), `${title} is there`);
};

step('a new task goes to the channel one was in, and can go to another', async () => {
  await ann.go('/tasks');
  assert.equal((await add('water the plants')).channel_id, owner.general.id);
  await ann.page.getByLabel('In which channel').selectOption({ label: 'in #plans' });
  assert.equal((await add('draw a plan')).channel_id, plans.id);
  await ann.audit('the tasks');
});

step('20 let the agent claim a task: its state follows the run, and links to it', async () => {
  await ann.page.getByRole('link', { name: /water the plants/ }).click();
  await dialog().getByLabel('Who does it').selectOption({ label: 'coder (agent)' });
  await until(async () => (await task('water the plants')).status === 'review', 'it is in review when the run is done');
  await until(async () => (await dialog().getByLabel('State').inputValue()) === 'review', 'the page shows it');
  const run = dialog().getByRole('list', { name: 'Runs' }).getByRole('link', { name: /coder: done/ });
  await run.waitFor();
  await ann.audit('a task with its run');
  await dialog().getByLabel('State').selectOption('done');
  await until(async () => (await task('water the plants')).status === 'done', 'it is done');
  await run.click();
  await ann.page.locator('[data-region=panel]').getByText(/coder/).first().waitFor();
});

step('a run that is stopped puts its task back', async () => {
  const made = await owner.call('POST', `${owner.ws}/tasks`, { title: 'take your time', channel_id: owner.general.id, assigned_to: coder.id });
  await until(async () => (await task('take your time')).status === 'in_progress', 'it is in progress');
  const [run] = await owner.call('GET', `${owner.ws}/runs?state=running`);
  await owner.call('POST', `/v1/runs/${run.id}/stop`);
  await until(async () => (await task('take your time')).status === 'todo', 'it is to do again');
  assert.equal(made.status === 'todo' || made.status === 'in_progress', true);
});

step('an agent that is not in the channel of a task is added first', async () => {
  await ann.go(`/tasks/${(await task('draw a plan')).id}`);
  await dialog().getByLabel('Who does it').selectOption({ label: 'coder (agent), not in the channel' });
  await ann.page.getByRole('dialog', { name: 'coder is not in #plans' }).getByRole('button', { name: 'Add and assign' }).click();
  await until(async () => (await task('draw a plan')).assigned_to === coder.id, 'it is assigned');
  assert.ok((await owner.call('GET', `${owner.ws}/channels/${plans.id}`)).member_ids.includes(coder.id));
});

step('a search hit opens the task itself', async () => {
  await ann.go('/search?q=plants');
  await ann.page.getByRole('link', { name: 'Task: water the plants' }).click();
  await until(async () => (await dialog().getByLabel('What is to be done').inputValue()) === 'water the plants', 'the task is open');
});
