// The first minutes: an account, a workspace, an agent, the first words.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Hub, PASSWORD } from './support/hub.mjs';
import { Browser } from './support/page.mjs';
import { close, step } from './support/story.mjs';

let hub, browser, ann;

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  ann = await browser.open(hub);
});
after(() => close(browser, hub));

step('01 start the binary, open the printed address', async () => {
  const printed = /Open (http:\/\/[^ ]+)/.exec(hub.log)?.[1];
  assert.ok(printed, hub.log);
  await ann.page.goto(printed);
  await ann.page.getByRole('heading', { name: 'Welcome to Folkmoot' }).waitFor();
  await ann.audit('the first view');
});

step('02 create the owner account', async () => {
  const { page } = ann;
  await page.getByLabel('Your name').fill('ann');
  await page.getByLabel('Email').fill('ann@example.org');
  await page.getByLabel('Password').fill(PASSWORD);
  await ann.button(/Make the owner/).click();
  await page.getByLabel('Workspace').fill('Acme');
  await ann.audit('naming the workspace');
  await ann.button('Continue').click();
  await page.getByRole('heading', { name: 'Add your first agent' }).waitFor();
});

step('03 reload: still signed in', async () => {
  await ann.page.reload();
  await ann.page.getByRole('heading', { name: 'Add your first agent' }).waitFor();
});

step('04 see which engines were found and test one', async () => {
  await ann.page.getByRole('radio', { name: /script/ }).waitFor();
  await ann.button('Test script').click();
  await ann.page.getByText(/^Works/).waitFor();
  await ann.audit('the engines');
});

step('05 create an agent with two clicks', async () => {
  await ann.page.getByRole('radio', { name: /script/ }).check();
  await ann.page.getByLabel('Name', { exact: true }).fill('echo');
  await ann.button('Add agent').click();
  await ann.page.getByText('echo is here').waitFor();
  await ann.button('Make an invitation link').click();
  await ann.page.getByLabel('Invitation link', { exact: true }).waitFor();
  await ann.audit('bringing others in');
  await ann.button('Start').click();
  await ann.composer.waitFor();
});

step('06 write "hello" in #general, see it at once', async () => {
  await ann.page.getByRole('heading', { name: 'general' }).first().waitFor();
  await ann.composer.fill('hello');
  const echo = await ann.page.evaluate(() => {
    const field = document.querySelector('textarea');
    const start = performance.now();
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
    const seen = () => [...document.querySelectorAll('[role=log] *')].some((it) => it.textContent === 'hello');
    return new Promise((done) => {
      const look = () => (seen() ? done(performance.now() - start) : requestAnimationFrame(look));
      look();
    });
  });
  assert.ok(echo <= 50, `it showed after ${echo} ms`);
  await ann.message('hello').waitFor();
});

step('07 the agent that was made with two clicks answers within a minute', async () => {
  await ann.write('@echo hello there');
  await ann.log.getByText(/You said: .*hello there/).first().waitFor({ timeout: 30_000 });
});

step('a visitor from elsewhere needs the printed code', async () => {
  const other = await Hub.start();
  const far = await browser.open(other, { extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' } });
  await far.go('/');
  const { page } = far;
  await page.getByLabel('Your name').fill('mallory');
  await page.getByLabel('Email').fill('mallory@example.org');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByLabel('One-time code').fill('00000-00000');
  await far.button(/Make the owner/).click();
  await page.getByRole('alert').getByText(/one-time code/).waitFor();
  await page.getByLabel('One-time code').fill(/one-time code: (\S+)/.exec(other.log)[1]);
  await far.button(/Make the owner/).click();
  await page.getByLabel('Workspace').waitFor();
  await far.close();
  await other.end();
});
