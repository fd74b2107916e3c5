// Working with agents: waking, watching, stopping, correcting, deciding. The agents are real ones, hosted by the hub and on a
// machine of their own; only the program that they drive is a fake (support/claude.mjs). How long things take is measured in
// bench/measure.mjs: here a busy machine may take its time.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Daemon } from './support/daemon.mjs';
import { WITH_CLAUDE, hosted } from './support/engine.mjs';
import { Hub } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

let hub, browser, owner, ann, laptop;

before(async () => {
  hub = await Hub.start(WITH_CLAUDE);
  browser = await Browser.launch();
  owner = await hub.owner();
  await hosted(owner, 'coder');
  ann = await browser.open(hub, { as: owner, permissions: ['clipboard-read', 'clipboard-write'] });
  await ann.channel(owner.general);
});
after(async () => {
  await laptop?.stop();
  await close(browser, hub);
});

const panel = () => ann.page.locator('[data-region=panel]');
/** The card of the newest question. */
const card = () => ann.page.getByRole('region', { name: /coder asks/ }).last();
/** The row of the newest run. */
const row = () => ann.page.getByRole('button', { name: /^Run of coder/ }).last();
const state = (word) => ann.page.getByRole('button', { name: new RegExp(`^Run of coder: ${word}`) }).last();

step('07 mention the agent, see a sign of life within 2 s and an answer', async () => {
  await ann.write('@coder are you there?');
  await ann.page.getByText(/coder: (about to wake|woken|on it)/).or(row()).first().waitFor();
  await ann.log.getByText('I read: are you there?').first().waitFor();
});

step('08 watch actions appear, open one, see the command output', async () => {
  await ann.write('@coder watch this');
  await ann.log.getByText('All tests pass.').waitFor();
  await row().click();
  await panel().getByText('npm test').first().click();
  await panel().getByText('12 passed, 0 failed').waitFor();
  await ann.audit('a run');
  await ann.page.keyboard.press('Escape');
});

step('09 send two lines quickly: one answer, both lines used', async () => {
  await ann.write('@coder first line');
  await ann.write('second line');
  await ann.log.getByText(/I read: first line\s*second line/).first().waitFor();
  const all = await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=50&replies=true`);
  assert.equal(all.filter((it) => it.content.includes('I read: first line')).length, 1);
});

step('10 stop a run: it stops within 2 s and says so', async () => {
  await ann.write('@coder take your time');
  const stop = ann.button('Stop', { exact: true });
  await stop.waitFor();
  await stop.click();
  await state('stopped').waitFor();
});

step('11 correct it while it runs', async () => {
  await ann.write('@coder begin');
  await state('working').click();
  await panel().getByText('make everything').first().waitFor();
  const steer = panel().getByPlaceholder('Steer coder');
  await steer.fill('no, the other way round');
  await steer.press('Enter');
  await panel().getByText('You corrected me: no, the other way round').first().waitFor();
});

step('the session goes on: in the thread, and with the resume line in a terminal', async () => {
  await panel().getByRole('button', { name: 'Resume line' }).click();
  const line = await until(() => ann.page.evaluate(() => navigator.clipboard.readText()), 'the line is copied');
  assert.match(line, /claude --resume session-\d+/);
  const again = panel().getByPlaceholder('Continue with coder');
  await again.fill('what were we at?');
  await again.press('Enter');
  await panel().getByRole('button', { name: 'Thread' }).click();
  await ann.page.getByRole('log', { name: 'Thread' }).getByText('I read: what were we at?').first().waitFor();
  const runs = await owner.call('GET', `/v1/channels/${owner.general.id}/runs`);
  const [last, first] = runs.filter((run) => run.thread_id === runs[0].thread_id);
  assert.equal(last.resume, first.resume, 'the same session');
  await ann.page.keyboard.press('Escape');
});

step('12 ask for a file change, see the diff', async () => {
  laptop = await Daemon.start(owner, 'laptop');
  await until(async () => (await owner.call('GET', `${owner.ws}/members`)).some((it) => it.name === 'laptop' && it.status !== 'offline'), 'the laptop is here');
  await ann.write('@laptop change the notes');
  await ann.log.getByText('I changed notes.md.').first().waitFor();
  await ann.page.getByRole('button', { name: /^Run of laptop: done/ }).last().click();
  await panel().getByRole('button', { name: 'Show the diff' }).click();
  await panel().getByText('remember the milk').waitFor();
  await panel().getByText(/moot\/laptop\//).waitFor();
  await ann.audit('a diff');
  await ann.page.keyboard.press('Escape');
});

step('13 be asked before a risky command, deny with a reason, see the agent adapt', async () => {
  await ann.write('@coder something risky');
  await card().getByText('rm -rf build').first().waitFor();
  await ann.audit('a question');
  await card().getByRole('button', { name: /Deny/ }).click();
  const dialog = ann.page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('we still need it');
  await dialog.getByRole('button', { name: 'Deny', exact: true }).click();
  await ann.log.getByText('I left it alone, because: we still need it').first().waitFor();
});

/** What cannot be undone is confirmed by typing. */
async function allow(page) {
  await page.button('Allow once').click();
  const dialog = page.page.getByRole('dialog');
  await dialog.getByRole('textbox').fill(await dialog.locator('label code').innerText());
  await dialog.getByRole('button').last().click();
}

step('14 approve the same ask from the phone', async () => {
  await ann.write('@coder something risky again');
  const phone = await browser.open(hub, { as: owner, phone: true });
  await phone.go('/needs-you');
  await phone.button('Allow once').waitFor();
  // Not in the list of who is at work, which is there too but not seen on a phone.
  await phone.page.getByRole('main').getByText('rm -rf build').first().waitFor();
  await phone.audit('needs you, on a phone');
  await allow(phone);
  await ann.log.getByText('Done, build is gone.').first().waitFor();
  await phone.close();
});

step('15 restart the hub with an ask open: card and run are still there', async () => {
  await ann.write('@coder risky, and the power goes');
  await card().getByRole('button', { name: 'Allow once' }).waitFor();
  await hub.kill();
  await hub.run();
  await ann.page.reload();
  await card().getByRole('button', { name: 'Allow once' }).waitFor();
  await state('waits for a decision').waitFor();
  await allow(ann);
  await until(async () => (await ann.log.getByText('Done, build is gone.').count()) === 2, 'the run goes on after the restart');
});

step('16 mention an agent whose machine is off: told before sending, answered after it returns', async () => {
  await laptop.stop();
  await ann.composer.fill('@laptop when you are back');
  await ann.page.getByText(/laptop is offline and will answer/).waitFor();
  await ann.composer.press('Enter');
  await ann.page.getByText('laptop: waits: offline').last().waitFor();
  laptop.run();
  await ann.log.getByText('I read: when you are back').first().waitFor();
});

step('17 mention two agents: each answers once, no echo between them', async () => {
  await hosted(owner, 'writer');
  await ann.write('hello @coder and @writer, both');
  const answers = async () => {
    const all = await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=100&replies=true`);
    return all.filter((it) => it.content.startsWith('I read: hello coder and writer, both')).map((it) => it.sender_name);
  };
  await until(async () => (await answers()).length >= 2, 'two answers');
  assert.deepEqual((await answers()).sort(), ['coder', 'writer']);
  await ann.log.getByText('I read: hello coder and writer, both').nth(1).waitFor();
});

step('19 reply in a thread to the agent without mentioning it: it answers there', async () => {
  await ann.write('@coder a question for the thread');
  await ann.log.getByText('I read: a question for the thread').first().waitFor();
  const asked = ann.message('a question for the thread');
  await asked.focus();
  await asked.press('t');
  const field = ann.page.locator('[data-region=panel-composer] textarea');
  await until(() => field.evaluate((it) => it === document.activeElement), 'the field has the focus');
  await field.fill('and one more thing');
  await field.press('Enter');
  await ann.page.getByRole('log', { name: 'Thread' }).getByText('I read: and one more thing').first().waitFor();
});

step('the agents on their cards', async () => {
  await ann.go('/agents');
  await ann.page.getByRole('article', { name: 'coder' }).waitFor();
  await ann.audit('the agents');
});
