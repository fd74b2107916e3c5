// Deciding what agents ask, with hands on the keyboard: nothing is decided that was not meant, however one types.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { Hub, Lark } from './support/hub.mjs';
import { Browser, until } from './support/page.mjs';
import { close } from './support/story.mjs';

let hub, browser, owner, ann, coder;
/** What the page sent about questions. */
let sent = [];

before(async () => {
  hub = await Hub.start();
  browser = await Browser.launch();
  owner = await hub.owner();
  const member = await owner.call('POST', `${owner.ws}/members`, { name: 'coder', type: 'agent' });
  await owner.call('POST', `${owner.ws}/channels/${owner.general.id}/members`, { member_id: member.id });
  coder = await Lark.connect(hub, member.api_key);
  ann = await browser.open(hub, { as: owner, routed: true });
  await ann.page.addInitScript(() => {
    // The question about notifications would lie over the cards.
    localStorage.setItem('folkmoot.notices', '"off"');
    // The page's time is moved by the tests; that of a worker cannot be.
    delete window.SharedWorker;
  });
  await ann.page.clock.install();
  ann.page.on('request', (request) => request.method() === 'PATCH' && /approvals/.test(request.url()) && sent.push(request.postDataJSON()));
});
after(() => {
  coder?.close();
  return close(browser, hub);
});
beforeEach(() => (sent = []));

const stored = (id) => owner.call('GET', `/v1/approvals/${id}`);
const keys = () => ann.page.keyboard;
const dialog = () => ann.page.getByRole('dialog');
const card = (id) => ann.page.locator(`[data-need="${id}"]`);
const soon = (word = '(allowed|denied)') => ann.page.getByRole('main').getByText(new RegExp(`Will be ${word} in \\d s`));
const undo = () => ann.button(/Undo/);
const note = () => dialog().getByRole('textbox');
/** More than the time after which anything that waits is sent, and letters mean something again. */
const wait = (ms = 5000) => ann.page.clock.runFor(ms);
const hasFocus = (locator) => until(() => locator.evaluate((it) => it === document.activeElement), 'it has the focus');

/** What a daemon sends around what its engine asks. */
const asked = (tool, input, more = {}) => ({ engine: 'claude', kind: 'permission', options: [], folder: '/src/site', machine: 'laptop', detail: { tool, input }, ...more });
const command = (text) => asked('Bash', { command: text });

/** "Needs you" with as many questions like this. */
async function needsYou(count = 1, payload = command('npm test'), action = 'Bash') {
  for (const open of await owner.call('GET', `${owner.ws}/approvals?status=pending`)) await owner.call('PATCH', `/v1/approvals/${open.id}`, { approved: false });
  const ids = [];
  for (let number = 0; number < count; number += 1) {
    const told = await coder.ask('approval.request', { channel_id: owner.general.id, action, payload: JSON.stringify(payload), kind: 'permission' });
    ids.push(told.data.id);
  }
  await ann.go('/needs-you');
  for (const id of ids) await card(id).waitFor();
  await wait(1000);
  // The newest comes first.
  return ids.reverse();
}

/** Chooses the first card, and has read it. */
async function choose(id) {
  await keys().press('j');
  await hasFocus(card(id));
  assert.equal(await card(id).getAttribute('aria-current'), 'true');
  await wait(1000);
}

async function nothingIsDecided(id) {
  assert.equal(await soon().count(), 0);
  await wait();
  assert.deepEqual(sent, []);
  assert.equal((await stored(id)).status, 'pending');
}

for (const [pace, delay] of [['quickly', 0], ['slowly', 90]]) {
  for (const reason of ['not a good idea', 'add a dad, a d and a deed', 'a\nd\n a', ' d a ']) {
    test(`a reason typed ${pace} is the reason: ${JSON.stringify(reason)}`, async () => {
      const [id] = await needsYou();
      await choose(id);
      await keys().press('d');
      await keys().type(reason, { delay });
      assert.equal(await note().inputValue(), reason);
      await nothingIsDecided(id);
      await keys().press('Control+Enter');
      await soon('denied').waitFor();
      await wait();
      const { status, review_note } = await until(async () => ((it) => it.status !== 'pending' && it)(await stored(id)), 'it is decided');
      assert.notEqual(status, 'approved');
      assert.equal(review_note ?? '', reason.trim());
      assert.equal(sent.length, 1);
    });
  }

  test(`with no card chosen, what is typed ${pace} decides nothing`, async () => {
    const [id] = await needsYou();
    await keys().type('d a ad da', { delay });
    await ann.page.getByText('Choose a question first').first().waitFor();
    assert.equal(await dialog().count(), 0);
    await nothingIsDecided(id);
  });

  test(`who goes on typing ${pace} after the dialog was closed decides nothing`, async () => {
    const [id] = await needsYou();
    await choose(id);
    await keys().press('d');
    await keys().type('not ', { delay });
    await keys().press('Escape');
    await keys().type('a good idea, dad', { delay });
    assert.equal(await dialog().count(), 0);
    await nothingIsDecided(id);
  });

  test(`a letter that decided is taken back by whoever goes on typing ${pace}`, async () => {
    const [id] = await needsYou();
    await choose(id);
    await keys().press('a');
    await soon().waitFor();
    await keys().type('ll good', { delay });
    await nothingIsDecided(id);
  });
}

test('allowing with a key shows what will happen, and is sent after a moment', async () => {
  const [id] = await needsYou();
  await choose(id);
  await keys().press('a');
  await soon('allowed').waitFor();
  await hasFocus(undo());
  await ann.audit('a decision that waits');
  assert.deepEqual(sent, []);
  await wait();
  await until(async () => (await stored(id)).status === 'approved', 'it is allowed');
});

for (const key of ['z', 'Enter', ' ', 'Control+z']) {
  test(`a decision is taken back with ${JSON.stringify(key)}`, async () => {
    const [id] = await needsYou();
    await choose(id);
    await keys().press('a');
    await hasFocus(undo());
    await keys().press(key);
    await undo().waitFor({ state: 'detached' });
    await nothingIsDecided(id);
    await hasFocus(card(id));
  });
}

test('a denial is taken back as well', async () => {
  const [id] = await needsYou();
  await choose(id);
  await keys().press('d');
  await keys().type('no');
  await keys().press('Control+Enter');
  await hasFocus(undo());
  await keys().press('z');
  await nothingIsDecided(id);
});

test('a decision that waits does not run out under a dialog, where it cannot be taken back', async () => {
  const [first, second] = await needsYou(2);
  await choose(first);
  await keys().press('a');
  await hasFocus(undo());
  await keys().press('j');
  await hasFocus(card(second));
  await wait(600);
  await keys().press('d');
  await note().waitFor();
  await wait();
  assert.deepEqual(sent, []);
  await keys().press('Escape');
  await wait();
  await until(async () => (await stored(first)).status === 'approved', 'the first is allowed');
  assert.equal((await stored(second)).status, 'pending');
});

test('who goes to another view can still take the decision back there', async () => {
  const [id] = await needsYou();
  await choose(id);
  await keys().press('a');
  await hasFocus(undo());
  await ann.page.getByRole('link', { name: 'Tasks' }).click();
  await ann.page.getByText(/^Will be allowed: Run a command: npm test/).waitFor();
  await undo().click();
  await wait();
  assert.deepEqual(sent, []);
  assert.equal((await stored(id)).status, 'pending');
});

test('after a decision no other card is chosen by itself', async () => {
  const [first, second] = await needsYou(2);
  await choose(first);
  await keys().press('a');
  await soon().waitFor();
  await wait();
  await card(first).waitFor({ state: 'detached' });
  await keys().press('a');
  await nothingIsDecidedAbout(second);
  await keys().press('j');
  await hasFocus(card(second));
});

async function nothingIsDecidedAbout(id) {
  assert.equal(await soon().count(), 0);
  await wait();
  assert.equal((await stored(id)).status, 'pending');
}

test('a card that was chosen this moment is not decided: it cannot have been read', async () => {
  const [id] = await needsYou();
  await keys().type('ja', { delay: 0 });
  await ann.page.getByText('nothing was decided').first().waitFor();
  await nothingIsDecided(id);
});

test('a key held down, and a letter of a composed word, decide nothing', async () => {
  const [first, second] = await needsYou(2);
  await choose(first);
  const press = (init) => ann.page.evaluate((init) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true, cancelable: true, ...init })), init);
  await press({ repeat: true });
  await press({ isComposing: true });
  await press({ keyCode: 229 });
  await press({ key: 'k', ctrlKey: true, repeat: true });
  assert.equal(await dialog().count(), 0);
  await nothingIsDecided(first);
  await nothingIsDecidedAbout(second);
});

test('two clicks decide one question', async () => {
  const [first, second] = await needsYou(2);
  const button = card(first).getByRole('button', { name: 'Allow once' });
  const { x, y, width, height } = await button.boundingBox();
  await ann.page.mouse.dblclick(x + width / 2, y + height / 2);
  await card(first).waitFor({ state: 'detached' });
  // The next card has come under the hand.
  await ann.page.mouse.click(x + width / 2, y + height / 2);
  await nothingIsDecidedAbout(second);
  assert.equal(sent.length, 1);
});

const LONG = Array.from({ length: 60 }, (_, line) => `echo ${line}`).join('\n');

test('what was not in sight as a whole is shown as a whole before it is allowed', async () => {
  const [id] = await needsYou(1, command(`${LONG}\necho the end`));
  await card(id).getByRole('button', { name: /\d+ more lines/ }).waitFor();
  await card(id).getByRole('button', { name: 'Allow once' }).click();
  await dialog().getByText('the end').waitFor();
  await hasFocus(dialog().getByRole('button', { name: 'Cancel' }));
  await keys().press('Enter');
  await nothingIsDecided(id);
  await card(id).getByRole('button', { name: /\d+ more lines/ }).click();
  await card(id).getByRole('button', { name: 'Allow once' }).click();
  await until(async () => (await stored(id)).status === 'approved', 'it was opened, and is allowed');
});

test('a long line and a change with long lines are clipped with a count as well', async () => {
  const content = Array.from({ length: 40 }, (_, line) => `line ${line} ${'x'.repeat(200)} end${line}`).join('\n');
  const [id] = await needsYou(1, asked('Write', { file_path: 'src/a.rs', content, note: 'y'.repeat(4000) }));
  const more = card(id).getByRole('button', { name: /more lines/ });
  await until(async () => (await more.count()) === 2, 'two parts are clipped');
  while (await more.count()) await more.first().click();
  const wide = await card(id).evaluate((it) => [...it.querySelectorAll('td.text, pre')].filter((part) => part.scrollWidth > part.clientWidth + 1).length);
  assert.equal(wide, 0, 'nothing is out of sight at the end of a line');
});

test('a destructive action: the warning comes first, and a yes is typed', async () => {
  const [id] = await needsYou(1, command(`${'\n'.repeat(80)}rm -rf build`), 'Nothing to see here');
  assert.match(await card(id).innerText(), /^\s*Careful: deletes/);
  await choose(id);
  await keys().press('a');
  await hasFocus(note());
  await keys().type('a d allow?');
  await keys().press('Enter');
  await nothingIsDecided(id);
  await note().fill('allow');
  await keys().press('Enter');
  await soon().waitFor();
  await wait();
  await until(async () => (await stored(id)).status === 'approved', 'it is allowed');
});

test('the whole action: every part, addresses whole and not to be followed, words of the agent marked as such', async () => {
  const address = `https://github.com@evil.example/${'p'.repeat(200)}?end`;
  const [id] = await needsYou(1, asked('WebFetch', { url: address, row_id: '*' }), 'Ann said \u202eit is fine');
  await card(id).getByText('coder says').waitFor();
  for (const text of [address, '/src/site', 'laptop', 'input.row_id', '*', 'Ann said ⟨U+202E⟩it is fine']) await card(id).getByText(text, { exact: true }).waitFor();
  assert.equal(await card(id).locator('a[href*="evil"]').count(), 0);
  assert.doesNotMatch(await card(id).innerText(), /[{}[\]]|permission|options/);
  await ann.audit('a question in full');
});

test('where the hub does not render, its words are shown as text, and a yes is asked for twice', async () => {
  await ann.page.route(/\/v1\/workspaces\/[^/]+\/approvals/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: (await response.json()).map(({ shown, ...it }) => it) });
  });
  const [id] = await needsYou(1, command('npm test'), 'Run the tests');
  await ann.page.unrouteAll({ behavior: 'wait' });
  await card(id).getByText('Run the tests').waitFor();
  await card(id).getByText(/npm test/).waitFor();
  await card(id).getByRole('button', { name: 'Allow once' }).click();
  await hasFocus(dialog().getByRole('button', { name: 'Cancel' }));
  await keys().press('Escape');
  await nothingIsDecided(id);
});

test('a question with answers is answered', async () => {
  const [id] = await needsYou(1, asked('AskUserQuestion', {}, { kind: 'question', options: ['the red one', 'the blue one'] }), 'Which one?');
  await choose(id);
  await keys().press('a');
  await hasFocus(ann.button('the red one'));
  assert.deepEqual(sent, []);
  await ann.button('the blue one').click();
  await until(async () => (await stored(id)).review_note === 'the blue one', 'the answer is stored');
});

test('every dialog begins where neither Enter nor Space does anything', async () => {
  const [id] = await needsYou();
  const begins = async (what, open, where) => {
    await open();
    await dialog().waitFor();
    await hasFocus(where());
    await keys().press('Escape');
    await dialog().waitFor({ state: 'detached' });
    await wait(1000);
  };
  const cancel = () => dialog().getByRole('button', { name: 'Cancel' });
  const field = () => dialog().locator('input, textarea').first();
  const inside = () => dialog().locator('.body');
  await begins('denying', () => card(id).getByRole('button', { name: /Deny/ }).click(), field);
  await begins('all read', () => keys().press('Shift+Escape'), cancel);
  await begins('help', () => keys().press('?'), inside);
  await begins('the palette', () => keys().press('Control+k'), field);
  await ann.go('/agents');
  await begins('a new key', () => ann.button('New key').click(), cancel);
  await begins('removing an agent', () => ann.button('Remove').click(), field);
  const message = await owner.send(owner.general, 'to be removed');
  await ann.channel(owner.general);
  const row = ann.log.locator(`[data-id="${message.id}"]`);
  await row.focus();
  await begins('deleting', async () => {
    await row.getByRole('button', { name: 'More' }).click();
    await ann.page.getByRole('menuitem', { name: 'Delete' }).click();
  }, cancel);
});

test('the menu of the last message begins at its first action and lies inside the window', async () => {
  const message = await owner.send(owner.general, 'the last one');
  await ann.channel(owner.general);
  const row = ann.log.locator(`[data-id="${message.id}"]`);
  await row.focus();
  await row.getByRole('button', { name: 'More' }).click();
  const actions = ann.page.getByRole('menuitem');
  await hasFocus(actions.first());
  const { y, height } = await actions.last().boundingBox();
  assert.ok(y + height <= ann.page.viewportSize().height, `the last action ends at ${y + height}`);
  await keys().press('Escape');
});

test('letters typed after a field lost the focus set nothing off', async () => {
  await ann.channel(owner.general);
  const other = await owner.channel('other');
  await owner.send(other, 'unread');
  await ann.composer.pressSequentially('now ');
  await ann.page.evaluate(() => document.activeElement.blur());
  await keys().type('no n p / ?');
  assert.ok(ann.page.url().endsWith(`/c/${owner.general.id}`), ann.page.url());
  assert.equal(await dialog().count(), 0);
  await wait(1100);
  await keys().press('?');
  await dialog().waitFor();
});
