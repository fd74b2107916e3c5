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
  // How long until it is shown, without waiting for the hub; the best of a few, since a test machine has other things to do.
  const shownAfter = (text) =>
    ann.page.evaluate((text) => {
      const list = document.querySelector('[role=log]');
      const start = performance.now();
      document.querySelector('textarea').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
      return new Promise((done) => {
        const look = () => (list.textContent.includes(text) ? done(performance.now() - start) : requestAnimationFrame(look));
        look();
      });
    }, text);
  const times = [];
  for (const text of ['hello', 'hello again', 'hello for the third time', 'a fourth hello', 'the last hello']) {
    await ann.composer.fill(text);
    times.push(await shownAfter(text));
    await ann.message(text).waitFor();
  }
  assert.ok(Math.min(...times) <= 50, `they showed after ${times.map(Math.round)} ms`);
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
