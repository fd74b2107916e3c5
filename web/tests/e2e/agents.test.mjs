// Working with agents: waking, watching, stopping, correcting, deciding; with an agent that behaves as an engine does.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Agent } from './support/agent.mjs';
import { Hub } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

let hub, browser, owner, ann, coder;

const DIFF = `diff --git a/notes.md b/notes.md
--- a/notes.md
+++ b/notes.md
@@ -1 +1,2 @@
 # Notes
+remember the milk
`;

/** What the agent does with a prompt. */
async function work(run, prompt) {
  if (prompt.includes('watch')) {
    const command = run.action('1', 'command', 'npm test', { command: 'npm test' });
    command.done(true, { output: '12 passed, 0 failed', exit_code: 0 });
    return run.answer('All tests pass.');
  }
  if (prompt.includes('take your time')) {
    run.action('1', 'command', 'sleep 600', { command: 'sleep 600' });
    await run.stopped;
  }
  if (prompt.includes('begin')) {
    run.action('1', 'tool', 'thinking it over');
    const words = await Promise.race([run.steering, run.stopped]);
    return run.answer(`You corrected me: ${words.replace(/@\S+\s*/, '')}`);
  }
  if (prompt.includes('change')) {
    run.action('1', 'file_change', 'notes.md').done();
    await run.changes([{ path: 'notes.md', kind: 'modified', added: 1, removed: 0 }], DIFF);
    return run.answer('I changed notes.md.');
  }
  if (prompt.includes('risky')) {
    const decision = await run.ask('Run a command', { tool: 'command', command: 'rm -rf build' });
    if (decision.status === 'approved') return run.answer('Done, build is gone.');
    return run.answer(`I left it alone, because: ${decision.review_note}`);
  }
  // Without the sign: an answer that mentions somebody wakes them.
  return run.answer(`I read: ${prompt.replaceAll('@', '')}`);
}

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
  coder = await Agent.join(owner, 'coder', work);
  ann = await browser.open(hub, { as: owner });
  await ann.channel(owner.general);
});
after(async () => {
  coder?.leave();
  await close(browser, hub);
  if (coder?.failure) throw coder.failure;
});

/** The row of the newest run. */
const row = () => ann.page.getByRole('button', { name: /^Run of coder/ }).last();
const state = (word) => ann.page.getByRole('button', { name: new RegExp(`^Run of coder: ${word}`) }).last();

step('07 mention the agent, see a sign of life within 2 s and an answer', async () => {
  const asked = Date.now();
  await ann.write('@coder are you there?');
  await ann.page.getByText(/coder: (about to wake|woken|on it)/).or(row()).first().waitFor();
  assert.ok(Date.now() - asked < 2000, `a sign after ${Date.now() - asked} ms`);
  await ann.log.getByText('I read: coder are you there?').first().waitFor();
});

step('08 watch actions appear, open one, see the command output', async () => {
  await ann.write('@coder watch this');
  await ann.log.getByText('All tests pass.').waitFor();
  await row().click();
  const panel = ann.page.locator('[data-region=panel]');
  await panel.getByText('npm test').first().click();
  await panel.getByText('12 passed, 0 failed').waitFor();
  await ann.audit('a run');
  await ann.page.keyboard.press('Escape');
});

step('09 send two lines quickly: one answer, both lines used', async () => {
  await ann.write('@coder first line');
  await ann.write('second line');
  await ann.log.getByText(/I read: coder first line\s*second line/).first().waitFor();
  const all = await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=50&replies=true`);
  assert.equal(all.filter((it) => it.content.includes('I read: coder first line')).length, 1);
});

step('10 stop a run: it stops within 2 s and says so', async () => {
  await ann.write('@coder take your time');
  const stop = ann.button('Stop', { exact: true });
  await stop.waitFor();
  const asked = Date.now();
  await stop.click();
  await state('stopped').waitFor();
  assert.ok(Date.now() - asked < 2000, `stopped after ${Date.now() - asked} ms`);
});

step('11 correct it while it runs', async () => {
  coder.steers = true;
  await ann.write('@coder begin');
  await state('working').waitFor();
  await ann.write('@coder no, the other way round');
  await ann.log.getByText('You corrected me: no, the other way round').first().waitFor();
  coder.steers = false;
});

step('12 ask for a file change, see the diff', async () => {
  await ann.write('@coder change the notes');
  await ann.log.getByText('I changed notes.md.').waitFor();
  await row().click();
  const panel = ann.page.locator('[data-region=panel]');
  await panel.getByRole('button', { name: 'Show the diff' }).click();
  await panel.getByText('remember the milk').waitFor();
  await ann.audit('a diff');
  await ann.page.keyboard.press('Escape');
});

step('13 be asked before a risky command, deny with a reason, see the agent adapt', async () => {
  await ann.write('@coder something risky');
  const card = ann.page.getByRole('region', { name: /coder asks/ }).last();
  await card.getByText('rm -rf build').waitFor();
  await ann.audit('a question');
  await card.getByRole('button', { name: /Deny/ }).click();
  const dialog = ann.page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('we still need it');
  await dialog.getByRole('button', { name: 'Deny', exact: true }).click();
  await ann.log.getByText('I left it alone, because: we still need it').first().waitFor();
});

step('14 approve the same ask from the phone', async () => {
  await ann.write('@coder something risky again');
  const phone = await browser.open(hub, { as: owner, phone: true });
  await phone.go('/needs-you');
  const allow = phone.button('Allow once');
  await allow.waitFor();
  await phone.page.getByText('rm -rf build').first().waitFor();
  await phone.audit('needs you, on a phone');
  await allow.tap();
  // What cannot be undone is confirmed by typing.
  const dialog = phone.page.getByRole('dialog');
  await dialog.getByRole('textbox').fill(await dialog.locator('label code').innerText());
  await dialog.getByRole('button').last().tap();
  await ann.log.getByText('Done, build is gone.').first().waitFor();
  await phone.close();
});

step('15 restart the hub with an ask open: card and run are still there', async () => {
  await ann.write('@coder risky, and the power goes');
  const card = ann.page.getByRole('region', { name: /coder asks/ }).last();
  await card.getByRole('button', { name: 'Allow once' }).waitFor();
  coder.leave();
  await hub.kill();
  await hub.run();
  await ann.page.reload();
  await ann.page.getByRole('region', { name: /coder asks/ }).last().getByRole('button', { name: 'Allow once' }).waitFor();
  await state('waits for a decision').waitFor();
});

step('16 mention an agent whose machine is off: told before sending, answered after it returns', async () => {
  await ann.composer.fill('@coder when you are back');
  await ann.page.getByText(/coder is offline and will answer/).waitFor();
  await ann.composer.press('Enter');
  await ann.page.getByText('coder: waits: offline').last().waitFor();
  await coder.connect();
  await ann.log.getByText('I read: coder when you are back').first().waitFor();
});

step('17 mention two agents: each answers once, no echo between them', async () => {
  const other = await Agent.join(owner, 'writer', (run, prompt) => run.answer(`writer read: ${prompt.replaceAll('@', '')}`));
  await ann.write('@coder and @writer, hello');
  await ann.log.getByText('I read: coder and writer, hello').first().waitFor();
  await ann.log.getByText('writer read: coder and writer, hello').first().waitFor();
  const answers = async () => {
    const all = await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=100&replies=true`);
    return all.filter((it) => it.content.includes('read: coder and writer')).length;
  };
  await until(async () => (await answers()) === 2, 'two answers');
  other.leave();
});

step('19 reply in a thread to the agent without mentioning it: it answers there', async () => {
  await ann.write('@coder a question for the thread');
  await ann.log.getByText('I read: coder a question for the thread').first().waitFor();
  const asked = ann.message('a question for the thread');
  await asked.focus();
  await asked.press('t');
  const field = ann.page.locator('[data-region=panel-composer] textarea');
  await field.fill('and one more thing');
  await field.press('Enter');
  await ann.page.getByRole('log', { name: 'Thread' }).getByText('I read: and one more thing').first().waitFor();
});

step('the agents on their cards', async () => {
  await ann.go('/agents');
  await ann.page.getByRole('article', { name: 'coder' }).waitFor();
  await ann.audit('the agents');
});
