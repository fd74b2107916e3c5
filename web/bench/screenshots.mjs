// Pictures of every view in light, dark and phone size, of a small workspace with people and an agent at work.
// node bench/screenshots.mjs FOLDER; look at them after every change of the looks.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Agent } from './agent.mjs';
import { Hub } from '../tests/e2e/support/hub.mjs';
import { Browser } from '../tests/e2e/support/page.mjs';

const folder = resolve(process.argv[2] ?? 'screenshots');
mkdirSync(folder, { recursive: true });

const DIFF = `diff --git a/src/session.ts b/src/session.ts
--- a/src/session.ts
+++ b/src/session.ts
@@ -12,7 +12,9 @@ export function open(token: string) {
   const claims = read(token);
-  if (claims.exp < Date.now()) return null;
+  // Seconds, not milliseconds.
+  if (claims.exp * 1000 < Date.now()) return null;
   return new Session(claims);
 }
`;

async function work(run, prompt) {
  run.action('1', 'command', 'rg "exp <" src', { command: 'rg "exp <" src' }).done(true, { output: 'src/session.ts:13:  if (claims.exp < Date.now()) return null;' });
  run.action('2', 'tool', 'read: src/session.ts').done();
  run.action('3', 'file_change', 'src/session.ts').done();
  if (prompt.includes('deploy')) {
    run.action('4', 'command', 'npm test', { command: 'npm test' }).done(true, { output: '48 passed' });
    await run.ask('Run a command', { tool: 'command', command: 'git push origin main && ./deploy production', reason: 'The tests pass; you asked me to deploy.' });
    return run.answer('Deployed.');
  }
  await run.changes([{ path: 'src/session.ts', kind: 'modified', added: 2, removed: 1 }], DIFF);
  run.action('4', 'command', 'npm test', { command: 'npm test' }).done(true, { output: '48 passed, 0 failed' });
  return run.answer('`exp` is in **seconds**, and the check compared it with milliseconds, so every session seemed to have ended. Fixed in `src/session.ts`; all 48 tests pass.', {
    cost_usd: 0.043,
    model: 'sonnet',
    resume_line: 'claude --resume 7f3a',
  });
}

const hub = await Hub.start();
const browser = await Browser.launch();
const fresh = await Hub.start();
try {
  const owner = await hub.owner('ann');
  const bob = await owner.colleague('bob');
  const claude = await Agent.join(owner, 'claude', work);
  await owner.call('POST', `${owner.ws}/members`, { name: 'reviewer', type: 'agent', role_card: { system_prompt: 'I read changes before they are merged.', capabilities: ['review'] } });
  await owner.channel('design', { topic: 'Mock-ups and words' });
  await bob.send(owner.general, 'Good morning. People are signed out after a minute since the update.');
  await owner.send(owner.general, 'I see it too:\n\n```\n401 token expired (issued 3 s ago)\n```', { content_type: 'markdown' });
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  await page.write('@claude sessions end at once, find out why and fix it');
  await page.log.getByText('all 48 tests pass').first().waitFor();
  const said = (await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=5`))[0];
  await bob.call('POST', `/v1/messages/${said.id}/reactions`, { emoji: '🎉' });
  await bob.send(owner.general, 'That was quick. Shall we ship it?');
  await page.write('@claude please deploy');
  await page.page.getByRole('region', { name: /claude asks/ }).first().waitFor();
  for (const [title, status, priority] of [['Write the release notes', 'todo', 'medium'], ['Move the backups', 'todo', 'low'], ['Fix the session check', 'done', 'urgent'], ['Look at the new mock-ups', 'in_progress', 'high']]) {
    const task = await owner.call('POST', `${owner.ws}/tasks`, { title, priority, channel_id: owner.general.id, assigned_to: owner.session.member_id });
    await owner.call('PATCH', `/v1/tasks/${task.id}`, { status });
  }
  const run = (await owner.call('GET', `/v1/channels/${owner.general.id}/runs`)).at(-1);
  const views = {
    channel: `/c/${owner.general.id}`,
    run: `/c/${owner.general.id}?run=${run.id}`,
    thread: `/c/${owner.general.id}?thread=${run.thread_id}`,
    needs: '/needs-you',
    search: '/search?q=session',
    tasks: '/tasks',
    agents: '/agents',
    machines: '/machines',
    admin: '/admin',
    signin: '/signin',
  };
  await page.close();
  for (const look of ['light', 'dark', 'phone']) {
    const page = await browser.open(hub, { as: owner, phone: look === 'phone', colorScheme: look === 'dark' ? 'dark' : 'light' });
    // The question about notifications would stand on every picture.
    await page.page.addInitScript(() => localStorage.setItem('folkmoot.notices', '"off"'));
    for (const [name, path] of Object.entries(views)) {
      await page.go(path);
      await page.page.locator('main h1, main textarea').first().waitFor();
      await page.page.waitForFunction(() => !document.querySelector('.skeleton'));
      if (name === 'run') await page.page.getByRole('button', { name: 'Show the diff' }).click().catch(() => {});
      await page.page.waitForTimeout(400);
      await page.page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    }
    if (look === 'phone') {
      await page.go('/');
      await page.page.waitForTimeout(400);
      await page.page.screenshot({ path: join(folder, `list-${look}.png`) });
    }
    await page.close();
    const visitor = await browser.open(fresh, { phone: look === 'phone', colorScheme: look === 'dark' ? 'dark' : 'light' });
    await visitor.go('/');
    await visitor.page.getByLabel('Your name').waitFor();
    await visitor.page.screenshot({ path: join(folder, `setup-${look}.png`) });
    await visitor.close();
  }
  claude.leave();
} finally {
  await browser.end();
  await hub.end();
  await fresh.end();
}
