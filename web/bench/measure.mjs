// Measures the page against a built binary (MOOT_BINARY, otherwise the release build) in a throttled Chromium, and prints a table.
// 4G as Chromium's own preset "Fast 4G" has it; a processor four times slower. Run on a quiet machine: node bench/measure.mjs
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const release = join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'release', 'moot');
if (!process.env.MOOT_BINARY && existsSync(release)) process.env.MOOT_BINARY = release;
const { BINARY, Hub } = await import('../tests/e2e/support/hub.mjs');
const { Browser } = await import('../tests/e2e/support/page.mjs');
const { WITH_CLAUDE, hosted } = await import('../tests/e2e/support/engine.mjs');

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

/** Runs in the page from its beginning: the moment from which the field is there, takes a letter and shows it in the next frame. */
const watchField = (field) => {
  const look = () => {
    const element = document.querySelector(field);
    if (!element?.getClientRects().length) return requestAnimationFrame(look);
    element.focus();
    element.value = 'x';
    element.dispatchEvent(new Event('input', { bubbles: true }));
    requestAnimationFrame(() => requestAnimationFrame(() => (window.usableAt = performance.now())));
  };
  requestAnimationFrame(look);
};

/** The same, seen through the tool that drives the browser, whose own script runs in the page and is slowed down with it. */
async function usableThroughTool(page, field) {
  const input = page.locator(field).first();
  await input.waitFor();
  return input.evaluate((element) => {
    element.focus();
    element.value = 'x';
    element.dispatchEvent(new Event('input', { bubbles: true }));
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))));
  });
}

async function loadOnce(browser, hub, path, field, { as, tool, read }) {
  const page = await browser.open(hub, { as, serviceWorkers: 'block' });
  if (!tool) await page.page.addInitScript(watchField, field);
  await slow(page.page);
  await page.go(path);
  const usable = tool ? await usableThroughTool(page.page, field) : await (await page.page.waitForFunction(() => window.usableAt)).jsonValue();
  const paint = await page.page.evaluate(painted);
  let shown = 0;
  if (read) {
    await page.message(read).waitFor();
    shown = await page.page.evaluate((text) => performance.now() * Number(document.body.textContent.includes(text)), read);
  }
  await page.close();
  return { paint, usable, shown };
}

/** First paint and when the field can be used, as the page itself sees it and as the tool does; with `read` also when that text is shown. */
async function load(browser, hub, path, field, { as, read } = {}) {
  const seen = [];
  const told = [];
  for (let run = 0; run < RUNS; run += 1) seen.push(await loadOnce(browser, hub, path, field, { as }));
  for (let run = 0; run < RUNS; run += 1) told.push(await loadOnce(browser, hub, path, field, { as, tool: true, read }));
  const of = (figures, key) => ms(median(figures.map((it) => it[key])));
  return `first paint ${of(seen, 'paint')}, usable ${of(seen, 'usable')} (${of(told, 'usable')} as the driving tool sees it)${read ? `, newest message there ${of(told, 'shown')}` : ''}`;
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

/** From the newest message to the first, 300 pixels a frame: how long the main thread was busy at a time. */
async function scrollUp(browser, hub, owner) {
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  await page.message(`history ${HISTORY - 1}:`).waitFor();
  const figures = await page.page.evaluate(async () => {
    const tasks = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((it) => it.duration))).observe({ type: 'longtask' });
    const list = document.querySelector('[role=log]');
    const giveUp = performance.now() + 90_000;
    const isOver = () => (list.scrollTop < 5 && list.textContent.includes('history 0:')) || performance.now() > giveUp;
    await new Promise((done) => {
      const step = () => {
        list.scrollTop -= 300;
        if (isOver()) done();
        else requestAnimationFrame(step);
      };
      step();
    });
    await new Promise((done) => setTimeout(done, 500));
    return { tasks, reached: list.textContent.includes('history 0:') };
  });
  await page.close();
  return figures;
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

/** The signs of a hosted agent: after a mention, and after Stop. */
async function agent(browser, hub, owner) {
  await hosted(owner, 'coder');
  const page = await browser.open(hub, { as: owner });
  await page.channel(owner.general);
  const since = async (act, sign) => {
    const start = Date.now();
    await act();
    await sign.waitFor();
    return ms(Date.now() - start);
  };
  const run = page.page.getByRole('button', { name: /^Run of coder/ }).last();
  const alive = await since(() => page.write('@coder take your time'), page.page.getByText(/coder: (about to wake|woken|on it)/).or(run).first());
  const stop = page.button('Stop', { exact: true });
  await stop.waitFor();
  const stopped = await since(() => stop.click(), page.page.getByRole('button', { name: /^Run of coder: stopped/ }));
  await page.close();
  return `a sign of life after ${alive}, stopped after ${stopped}`;
}

const hub = await Hub.start(WITH_CLAUDE);
const browser = await Browser.launch();
try {
  console.log(`binary: ${BINARY.includes('release') ? 'release' : 'debug'}; network: 9 Mbit/s, 165 ms; processor: ${SLOWER} times slower; medians of ${RUNS}`);
  const owner = await hub.owner();
  const bob = await owner.colleague('bob');
  console.log(`sign in: ${await load(browser, hub, '/signin', '#name')}`);
  console.log(`a channel: ${await load(browser, hub, `/c/${owner.general.id}`, 'textarea', { as: owner })}`);
  console.log(`local echo (${SLOWER} times slower): ${ms(await echo(browser, hub, owner))}`);
  console.log(`an agent: ${await agent(browser, hub, owner)}`);
  await seed(owner, HISTORY);
  console.log(`a channel of ${HISTORY}: ${await load(browser, hub, `/c/${owner.general.id}`, 'textarea', { as: owner, read: `history ${HISTORY - 1}:` })}`);
  const { tasks, reached } = await scrollUp(browser, hub, owner);
  console.log(`scrolling up through ${HISTORY}: ${reached ? 'to the first' : 'NOT to the first'}, ${tasks.length} tasks over 50 ms, the longest ${ms(Math.max(0, ...tasks))}`);
  const { rate, over, longest } = await flood(browser, hub, owner, bob);
  console.log(`60 messages/s among ${HISTORY}: ${rate.toFixed(0)}/s arrived, ${over} tasks over 50 ms, the longest ${ms(longest)}`);
} finally {
  await browser.end();
  await hub.end();
}
