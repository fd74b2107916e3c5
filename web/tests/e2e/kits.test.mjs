// An agent of one's own: a key from the page, and an example with it that is copied and runs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Hub } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close, step } from './support/story.mjs';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const EXAMPLES = { TypeScript: 'sdk/typescript/examples/agent.ts', Python: 'sdk/python/examples/agent.py', curl: 'sdk/curl/agent.sh' };

let hub, browser, owner, ann, key;
const copied = {};

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
  ann = await browser.open(hub, { as: owner, permissions: ['clipboard-read', 'clipboard-write'] });
});
after(() => close(browser, hub));

const dialog = () => ann.page.getByRole('dialog');

step('make a key for a program of one\'s own', async () => {
  await ann.go('/agents');
  await ann.button('With a key…').click();
  await dialog().getByRole('textbox').fill('counter');
  await dialog().getByRole('button', { name: 'Make its key' }).click();
  await dialog().getByRole('tab', { name: 'TypeScript' }).waitFor();
  key = await dialog().getByLabel('Key of counter', { exact: true }).innerText();
  assert.match(key, /^lr_[0-9a-f]{64}$/);
  await ann.audit('a key with its examples');
});

step('copy an agent in each language, with the key and the address filled in', async () => {
  for (const [language, file] of Object.entries(EXAMPLES)) {
    await dialog().getByRole('tab', { name: language }).click();
    await dialog().getByRole('button', { name: `Copy: Agent in ${language}` }).click();
    const wanted = readFileSync(join(ROOT, file), 'utf8').replaceAll('http://127.0.0.1:8484', hub.url).replaceAll('lr_YOUR_KEY', key);
    const text = await until(async () => [await ann.page.evaluate(() => navigator.clipboard.readText())].find((it) => it === wanted), `${language} is copied`);
    copied[language] = text;
  }
});

step('the arrows go from language to language', async () => {
  await dialog().getByRole('tab', { name: 'curl' }).press('ArrowRight');
  assert.equal(await dialog().getByRole('tab', { name: 'TypeScript' }).getAttribute('aria-selected'), 'true');
  await dialog().getByText("from 'folkmoot-agent'").waitFor();
  await dialog().getByRole('button', { name: 'I have kept it' }).click();
});

step('what was copied runs: the agent answers in the channel', async () => {
  const agent = (await owner.call('GET', `${owner.ws}/members`)).find((it) => it.name === 'counter');
  const here = await owner.call('GET', `${owner.ws}/channels/${owner.general.id}`);
  if (here.member_count === 1) await owner.call('POST', `${owner.ws}/channels/${owner.general.id}/members`, { member_id: agent.id });
  const script = join(hub.home, 'agent.sh');
  writeFileSync(script, copied.curl);
  const program = spawn('sh', [script], { stdio: 'ignore' });
  try {
    await ann.channel(owner.general);
    await ann.write('@counter three little words');
    await ann.log.getByText('These are 3 words.').waitFor();
  } finally {
    program.kill();
  }
});
