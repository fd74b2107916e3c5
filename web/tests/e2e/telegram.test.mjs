// Telegram beside the page: an account is linked, and decides from there.
import { after, before } from 'node:test';
import { WITH_CLAUDE, hosted } from './support/engine.mjs';
import { Hub } from './support/hub.mjs';
import { Browser } from './support/page.mjs';
import { close, step } from './support/story.mjs';
import { Telegram } from './support/telegram.mjs';

let hub, browser, owner, ann, telegram;

before(async () => {
  telegram = await Telegram.start();
  hub = await Hub.start({ ...WITH_CLAUDE, ...telegram.env });
  browser = await Browser.launch();
  owner = await hub.owner();
  await hosted(owner, 'coder');
  ann = await browser.open(hub, { as: owner });
  await ann.channel(owner.general);
});
after(async () => {
  telegram?.end();
  await close(browser, hub);
});

const dialog = () => ann.page.getByRole('dialog');

async function openDialog() {
  await ann.button('You and this page').click();
  await ann.page.getByRole('menuitem', { name: 'Decide from Telegram' }).click();
}

step('24 link a Telegram account with a code', async () => {
  await openDialog();
  await dialog().getByRole('button', { name: 'Get a code' }).click();
  const command = dialog().getByText(/^\/link [0-9a-f-]+$/);
  await command.waitFor();
  await ann.audit('linking Telegram');
  telegram.write(await command.innerText());
  await dialog().getByText('Linked to Ann').waitFor();
  await ann.page.keyboard.press('Escape');
});

step('24 what an agent asks on the page is decided in Telegram', async () => {
  await ann.write('@coder something risky');
  const card = await telegram.heard((it) => it.reply_markup && it.text.includes('rm -rf build'));
  telegram.press(card, /Allow|Once/i);
  await ann.log.getByText('Done, build is gone.').first().waitFor();
});

step('24 the link is ended on the page', async () => {
  await openDialog();
  await dialog().getByRole('button', { name: 'Unlink' }).click();
  await dialog().getByRole('button', { name: 'Get a code' }).waitFor();
});
