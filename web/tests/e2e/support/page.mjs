// The page in Debian's Chromium: one browser per test file, one context per person, axe, and the words on the page.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { PASSWORD } from './hub.mjs';

const CHROME = process.env.CHROME ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** What may take its time on a busy machine. */
const WAIT_TIMEOUT_MS = 40_000;
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

export class Browser {
  static async launch() {
    const browser = new Browser();
    // As root there is no sandbox; devices are fakes of Chromium's own, for calls.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];
    browser.chromium = await chromium.launch({ executablePath: CHROME, args });
    browser.complaints = [];
    return browser;
  }

  /**
   * A browser of somebody's own: `as` is signed in already. `routed` is for tests that answer requests in place of the hub:
   * what passes through a service worker, as it does from the moment the page's own takes over, may never be offered to them.
   */
  async open(hub, { as, phone = false, routed = false, ...options } = {}) {
    const serviceWorkers = routed ? 'block' : 'allow';
    const context = await this.chromium.newContext({ ...(phone ? PHONE : { viewport: { width: 1280, height: 800 } }), serviceWorkers, ...options });
    context.setDefaultTimeout(WAIT_TIMEOUT_MS);
    if (as) await context.addInitScript((session) => {
      if (localStorage.getItem('folkmoot.session')) return;
      localStorage.setItem('folkmoot.session', JSON.stringify(session));
      localStorage.setItem('folkmoot.signed_in_at', String(Date.now()));
    }, as.session);
    const page = await context.newPage();
    page.on('pageerror', (error) => this.complaints.push(error.stack ?? error.message));
    page.on('console', (message) => {
      // What the policy refused would only be seen here.
      if (message.type() === 'error' && /Content Security Policy|Refused to/.test(message.text())) this.complaints.push(message.text());
    });
    return new Page(page, hub);
  }

  /** No script failed and nothing was refused by the policy. */
  async end() {
    await this.chromium.close();
    assert.deepEqual(this.complaints, []);
  }
}

export class Page {
  constructor(page, hub) {
    this.page = page;
    this.hub = hub;
  }

  go(path = '/') {
    return this.page.goto(this.hub.url + path);
  }

  async channel(channel) {
    await this.go(`/c/${channel.id}`);
    await this.composer.waitFor();
  }

  get composer() {
    return this.page.locator('[data-region=composer] textarea, .composer textarea').first();
  }

  get log() {
    return this.page.getByRole('log', { name: 'Messages' });
  }

  button(name, options = {}) {
    return this.page.getByRole('button', { name, ...options });
  }

  /** A message in the list, by its words. */
  message(text) {
    return this.log.locator('article').filter({ hasText: text }).last();
  }

  async write(text) {
    await this.composer.fill(text);
    await this.composer.press('Enter');
  }

  async signIn(name, password = PASSWORD) {
    await this.page.getByLabel('Name or email').fill(name);
    await this.page.getByLabel('Password').fill(password);
    await this.button('Sign in').click();
  }

  /** Serious findings of axe on what is shown. */
  async audit(what) {
    // What is about to look different is judged by how it ends up looking.
    await this.page.evaluate(() => Promise.all(document.getAnimations().filter((it) => it instanceof CSSTransition).map((it) => it.finished.catch(() => {}))));
    await this.page.evaluate(AXE);
    const found = await this.page.evaluate(async () => {
      const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
      return violations
        .filter((it) => it.impact === 'serious' || it.impact === 'critical')
        .map((it) => `${it.id}: ${it.nodes.map((node) => node.html.slice(0, 140)).slice(0, 3).join(' | ')}`);
    });
    assert.deepEqual(found, [], what);
  }

  close() {
    return this.page.context().close();
  }
}

/** Looks again and again until there is something true to see. */
export function until(check, what, ms = WAIT_TIMEOUT_MS) {
  return (async () => {
    const giveUp = Date.now() + ms;
    for (;;) {
      const value = await check();
      if (value) return value;
      if (Date.now() > giveUp) throw new Error(`never came: ${what}`);
      await new Promise((done) => setTimeout(done, 30));
    }
  })();
}
