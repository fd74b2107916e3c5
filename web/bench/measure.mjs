// Measures the page against a built binary (MOOT_BINARY, otherwise the release build) in a throttled Chromium, and prints a table.
// 4G as Chromium's own preset "Fast 4G" has it; a processor four times slower. Run on a quiet machine: node bench/measure.mjs
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const release = join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'release', 'moot');
if (!process.env.MOOT_BINARY && existsSync(release)) process.env.MOOT_BINARY = release;
const { BINARY, Hub } = await import('../tests/e2e/support/hub.mjs');
const { Browser } = await import('../tests/e2e/support/page.mjs');

const NETWORK = { offline: false, latency: 165, downloadThroughput: (9e6 / 8) * 0.9, uploadThroughput: (1.5e6 / 8) * 0.9 };
const SLOWER = 4;
const RUNS = 5;
const HISTORY = Number(process.env.HISTORY ?? 10_000);

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const ms = (value) => `${Math.round(value)} ms`;

async function slow(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', NETWORK);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  return cdp;
}

const painted = () =>
  new Promise((done) => {
    const seen = performance.getEntriesByName('first-contentful-paint')[0];
    if (seen) return done(seen.startTime);
    new PerformanceObserver((list) => list.getEntriesByName('first-contentful-paint').forEach((it) => done(it.startTime))).observe({ type: 'paint', buffered: true });
  });

/** First paint, and the moment from which the field takes a letter and shows it in the next frame. */
async function load(browser, hub, path, field, as) {
  const figures = [];
  for (let run = 0; run < RUNS; run += 1) {
    const page = await browser.open(hub, { as, serviceWorkers: 'block' });
    await slow(page.page);
    await page.go(path);
    const input = page.page.locator(field).first();
    await input.waitFor();
    const usable = await input.evaluate((element) => {
      element.focus();
      element.value = 'x';
      element.dispatchEvent(new Event('input', { bubbles: true }));
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))));
    });
    figures.push({ paint: await page.page.evaluate(painted), usable });
    await page.close();
  }
  return { paint: median(figures.map((it) => it.paint)), usable: median(figures.map((it) => it.usable)) };
}

async function seed(owner, count) {
  for (let at = 0; at < count; at += 50) {
    // One member may send 1,000 a second.
    const pause = new Promise((done) => setTimeout(done, 70));
    await Promise.all([pause, ...Array.from({ length: 50 }, (_, step) => owner.send(owner.general, `history ${at + step}: a line of ordinary length, as people write them`))]);
  }
}

/** 60 messages a second for ten seconds in a long channel: the tasks of the main thread that took longer than 50 ms. */
async function flood(browser, hub, owner, bob) {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  await page.page.evaluate(() => {
    window.longTasks = [];
    new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((it) => it.duration))).observe({ type: 'longtask' });
  });
  const start = Date.now();
  const sent = [];
  for (let number = 0; number < 600; number += 1) {
    const due = start + (number * 1000) / 60;
    await new Promise((done) => setTimeout(done, Math.max(0, due - Date.now())));
    sent.push(bob.send(owner.general, `flood ${number}`));
  }
  await Promise.all(sent);
  await page.message('flood 599').waitFor();
  const tasks = await page.page.evaluate(() => window.longTasks);
  const rate = 600 / ((Date.now() - start) / 1000);
  await page.close();
  return { rate, over: tasks.length, longest: Math.max(0, ...tasks) };
}

async function echo(browser, hub, owner) {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  const cdp = await page.page.context().newCDPSession(page.page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  const figures = [];
  for (let run = 0; run < 10; run += 1) {
    await page.composer.fill(`echo ${run}`);
    figures.push(
      await page.page.evaluate((text) => {
        const start = performance.now();
        document.querySelector('textarea').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
        const list = document.querySelector('[role=log]');
        return new Promise((done) => {
          const look = () => (list.textContent.includes(text) ? done(performance.now() - start) : requestAnimationFrame(look));
          look();
        });
      }, `echo ${run}`),
    );
    await page.message(`echo ${run}`).waitFor();
  }
  await page.close();
  return median(figures);
}

const hub = await Hub.start();
const browser = await Browser.launch();
try {
  console.log(`binary: ${BINARY.includes('release') ? 'release' : 'debug'}; network: 9 Mbit/s, 165 ms; processor: ${SLOWER} times slower; medians of ${RUNS}`);
  const owner = await hub.owner();
  const bob = await owner.colleague('bob');
  const door = await load(browser, hub, '/signin', '#name');
  console.log(`sign in: first paint ${ms(door.paint)}, usable ${ms(door.usable)}`);
  const channel = await load(browser, hub, `/c/${owner.general.id}`, 'textarea', owner);
  console.log(`a channel: first paint ${ms(channel.paint)}, usable ${ms(channel.usable)}`);
  console.log(`local echo (${SLOWER} times slower): ${ms(await echo(browser, hub, owner))}`);
  await seed(owner, HISTORY);
  const long = await load(browser, hub, `/c/${owner.general.id}`, 'textarea', owner);
  console.log(`a channel of ${HISTORY}: first paint ${ms(long.paint)}, usable ${ms(long.usable)}`);
  const { rate, over, longest } = await flood(browser, hub, owner, bob);
  console.log(`60 messages/s among ${HISTORY}: ${rate.toFixed(0)}/s arrived, ${over} tasks over 50 ms, the longest ${ms(longest)}`);
} finally {
  await browser.end();
  await hub.end();
}
