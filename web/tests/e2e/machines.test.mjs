// Machines: the hub's own daemon is nobody's colleague, what the page offers to copy works, and what stops is said before.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { WITH_CLAUDE, CLAUDE, hosted } from './support/engine.mjs';
import { BINARY, Hub, PASSWORD } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

let hub, browser, owner, ann, machine, env;
const started = [];

before(async () => {
  hub = await Hub.start(WITH_CLAUDE);
  browser = await Browser.launch();
  owner = await hub.owner();
  await hosted(owner, 'coder');
  ann = await browser.open(hub, { as: owner, permissions: ['clipboard-read', 'clipboard-write'] });
  // Another machine: a home of its own, with `moot` and an engine on its path.
  machine = join(hub.home, 'elsewhere');
  mkdirSync(join(machine, 'bin'), { recursive: true });
  symlinkSync(BINARY, join(machine, 'bin', 'moot'));
  env = { PATH: `${join(machine, 'bin')}:${process.env.PATH}`, HOME: machine, XDG_CONFIG_HOME: join(machine, 'config'), XDG_DATA_HOME: join(machine, 'data'), XDG_RUNTIME_DIR: machine, MOOT_ENGINES__CLAUDE__COMMAND: CLAUDE };
});
after(async () => {
  await stopAll();
  await close(browser, hub);
});

async function stopAll() {
  for (const child of started.splice(0)) {
    child.kill('SIGTERM');
    await child.over;
  }
}

const dialog = () => ann.page.getByRole('dialog');
const copied = (label, within = ann.page) => within.getByLabel(label, { exact: true }).innerText();
const isOnline = (name) => async () => (await owner.call('GET', `${owner.ws}/members`)).some((it) => it.name === name && it.status !== 'offline');

/** A line as somebody pastes it into a terminal there, and leaves it running. */
function keepRunning(line) {
  const child = spawn('sh', ['-c', `exec env ${line}`], { env, cwd: machine, stdio: 'ignore' });
  child.over = new Promise((done) => child.once('exit', done));
  started.push(child);
}

step('agentd is no agent: not in lists, direct messages, the palette or among assignees', async () => {
  const daemon = (await owner.call('GET', `${owner.ws}/members`)).find((it) => it.is_daemon);
  assert.equal(daemon?.name, 'agentd', 'there is one');
  assert.deepEqual(daemon.may ?? [], (daemon.may ?? []).filter((it) => it !== 'remove'), 'nobody may remove it');
  await assert.rejects(owner.call('DELETE', `${owner.ws}/members/${daemon.id}`), /403/);
  await ann.go('/agents');
  await ann.page.getByRole('article', { name: 'coder' }).waitFor();
  assert.equal(await ann.page.getByRole('main').getByText('agentd').count(), 0, 'the agents');
  await ann.go('/admin');
  await ann.button('New key for coder').waitFor();
  assert.equal(await ann.page.getByRole('main').getByText('agentd').count(), 0, 'the keys');
  await ann.channel(owner.general);
  await ann.button('New direct message').click();
  await dialog().getByText('coder').waitFor();
  assert.equal(await dialog().getByText('agentd').count(), 0, 'whom to write to');
  await ann.page.keyboard.press('Escape');
  await ann.page.keyboard.press('Control+k');
  await dialog().getByRole('combobox').fill('agent');
  await dialog().getByRole('option', { name: /Agents/ }).first().waitFor();
  assert.equal(await dialog().getByText('agentd').count(), 0, 'the palette');
  await ann.page.keyboard.press('Escape');
  await ann.composer.fill('@agen');
  assert.equal(await ann.page.getByRole('listbox', { name: 'Suggestions' }).getByText('agentd').count(), 0, 'mentions');
  const made = await owner.call('POST', `${owner.ws}/tasks`, { title: 'x', channel_id: owner.general.id });
  await ann.go(`/tasks/${made.id}`);
  await dialog().getByLabel('Who does it').waitFor();
  assert.equal(await dialog().getByRole('option', { name: /agentd/ }).count(), 0, 'assignees');
  await assert.rejects(owner.call('PATCH', `/v1/tasks/${made.id}`, { assigned_to: daemon.id }), /400/);
});

step('the line that a new machine gets works there, and carries an agent that answers', async () => {
  await ann.go('/machines');
  await ann.page.getByLabel('Another machine of yours').fill('box');
  await ann.page.getByLabel('Works as an agent with').selectOption('claude');
  await ann.audit('the machines');
  await ann.button('Make a key').click();
  const line = await copied('Command for that machine', dialog());
  assert.match(line, /^MOOT_AGENTD__API_KEY=\S+ MOOT_AGENTD__SERVER=ws:\S+ MOOT_AGENTS__BOX__ENGINE=claude moot agentd$/);
  await dialog().getByRole('button', { name: 'I have kept it' }).click();
  keepRunning(line);
  await until(isOnline('box'), 'its agent is here');
  await ann.channel(owner.general);
  await ann.write('@box are you there?');
  await ann.log.getByText('I read: are you there?').first().waitFor();
});

step('removing a machine says what stops, also before the page knows who is at work', async () => {
  await ann.write('@box take your time');
  await until(async () => (await owner.call('GET', `${owner.ws}/runs?state=running`)).length === 1, 'it is at work');
  const hasty = await browser.open(hub, { as: owner, routed: true });
  // What the page asks for while it loads takes its time; only what the button itself asks for is answered.
  let pressed = false;
  await hasty.page.route(/\/runs\?state=/, (route) => pressed && route.continue());
  await hasty.go('/machines');
  const sure = hasty.page.getByRole('dialog');
  await hasty.button('Revoke the key of box').waitFor();
  pressed = true;
  await hasty.button('Revoke the key of box').click();
  await sure.getByText(/so is what it carries: box\./).waitFor();
  await sure.getByText(/A run stops: box in #general\./).waitFor();
  await hasty.audit('what stops');
  await sure.getByRole('button', { name: 'Revoke' }).click();
  await until(async () => !(await isOnline('box')()), 'it is cut off');
  await stopAll();
});

step('the lines of the first run work on another machine', async () => {
  await ann.page.evaluate(() => localStorage.setItem('folkmoot.setup_step', '"others"'));
  await ann.go('/setup');
  const lines = [];
  for (const label of ['Log in on another machine', 'Make an agent there', 'Start it there']) lines.push(await copied(label));
  await ann.audit('bringing others in');
  // The command asks for the password; here it gets it from a pipe.
  execFileSync('sh', ['-c', `${lines[0]} --password-stdin`], { env, cwd: machine, input: PASSWORD });
  execFileSync('sh', ['-c', lines[1]], { env, cwd: machine });
  keepRunning(lines[2]);
  await until(isOnline('laptop'), 'its agent is here');
});

step('the lines that try a door find it open', async () => {
  await ann.go('/machines');
  const tests = ann.page.getByText('Try it from a terminal');
  await tests.first().waitFor();
  for (const summary of await tests.all()) await summary.click();
  const lines = await ann.page.locator('code[aria-label^="Test of"]').allInnerTexts();
  assert.ok(lines.length >= 2, lines.join('\n'));
  for (const line of lines) assert.match(execFileSync('sh', ['-c', line], { env }).toString(), /^HTTP\/1\.1 101/, line);
});
