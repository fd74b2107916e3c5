/** Commands that work everywhere. */
import { commands, type Command } from '../lib/commands.svelte';
import { dialogs } from '../lib/dialogs.svelte';
import { hub } from '../lib/hub.svelte';
import { closePanels, go, place } from '../lib/router.svelte';
import { directs, isDirect, myChannels, nextUnread } from '../lib/store/select';
import { look } from '../lib/theme.svelte';
import { complain } from '../lib/toasts.svelte';
import { addressOf, views } from '../views';

const current = (): string => /^\/c\/([^/]+)/.exec(place.path)?.[1] ?? '';

function stepChannel(step: 1 | -1): void {
  const all = [...myChannels(hub.data), ...directs(hub.data)];
  if (!all.length) return;
  const at = all.findIndex((it) => it.id === current());
  const next = all[(at + step + all.length) % all.length]!;
  go(`/c/${next.id}`);
}

function unread(step: 1 | -1, only?: 'direct'): void {
  const next = nextUnread(hub.data, current(), step, only);
  if (next) go(`/c/${next.id}`);
}

/** The regions of the page in their fixed order. */
function nextRegion(back: boolean): void {
  const order = ['nav', 'channels', 'header', 'messages', 'composer', 'main', 'panel', 'panel-composer', 'phone'];
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')]
    // The innermost ones that are to be seen.
    .filter((it) => it.getClientRects().length > 0 && !it.querySelector('[data-region]'))
    .sort((a, b) => order.indexOf(a.dataset.region!) - order.indexOf(b.dataset.region!));
  const at = regions.findLastIndex((it) => it.contains(document.activeElement));
  const next = regions[(at + (back ? -1 : 1) + regions.length) % regions.length];
  if (!next) return;
  const isSeen = (it: HTMLElement) => it.getClientRects().length > 0;
  const first = [...next.querySelectorAll<HTMLElement>('[data-region-focus], [aria-current], article[tabindex="0"]')].find(isSeen);
  const any = [...next.querySelectorAll<HTMLElement>('a[href], button, textarea, input, [tabindex="0"]')].find(isSeen);
  (first ?? any ?? next).focus();
}

async function allRead(): Promise<void> {
  const yes = await dialogs.confirm({ title: 'Mark everything as read?', text: 'All channels and direct messages.', yes: 'Mark as read' });
  if (!yes) return;
  for (const channel of hub.data.channels.values()) if (channel.unread_count > 0) hub.markRead(channel.id).catch(complain);
}

export async function showPalette(start = ''): Promise<void> {
  const { default: Palette } = await import('./Palette.svelte');
  await dialogs.show(Palette as never, { title: 'Go to or do', start });
}

async function showHelp(): Promise<void> {
  const { default: Help } = await import('./Help.svelte');
  await dialogs.show(Help as never, { title: 'Keys', wide: true });
}

export async function showNewDirect(): Promise<void> {
  const { default: NewDirect } = await import('./NewDirect.svelte');
  await dialogs.show(NewDirect as never, { title: 'New direct message' });
}

export async function showNewChannel(): Promise<void> {
  const { default: NewChannel } = await import('./NewChannel.svelte');
  await dialogs.show(NewChannel as never, { title: 'Channels' });
}

export async function showTaste(): Promise<void> {
  const { default: Taste } = await import('./Taste.svelte');
  await dialogs.show(Taste as never, { title: 'Appearance and keys' });
}

export async function showTelegram(): Promise<void> {
  const { default: Telegram } = await import('./Telegram.svelte');
  await dialogs.show(Telegram as never, { title: 'Decide from Telegram' });
}

export async function showPassword(): Promise<void> {
  const { default: Password } = await import('./Password.svelte');
  await dialogs.show(Password as never, { title: 'Password and sessions' });
}

/** Everything that has no place in the bar of a phone. */
export async function showMore(): Promise<void> {
  const { default: More } = await import('./More.svelte');
  await dialogs.show(More as never, { title: 'More' });
}

function escape(): void {
  if ([...place.query.keys()].length) closePanels();
  else if (current()) void hub.markRead(current()).catch(() => {});
}

export function shellCommands(): Command[] {
  const navigation: Command[] = views
    .filter((view) => view.nav)
    .map((view) => ({ id: `go.${view.id}`, title: view.title, group: 'Go to', when: view.when, run: () => go(addressOf(view)) }));
  return [
    { id: 'palette', title: 'Palette', group: 'Help', keys: ['mod+k'], quiet: true, run: () => void showPalette() },
    { id: 'needs', title: 'Needs you', group: 'Go to', keys: ['mod+j'], run: () => go('/needs-you') },
    { id: 'search', title: 'Search', group: 'Go to', keys: ['/'], run: () => go('/search') },
    ...navigation,
    { id: 'dm', title: 'New direct message', group: 'Do', keys: ['mod+shift+k'], words: 'dm person', run: () => void showNewDirect() },
    { id: 'channel.new', title: 'New channel, or join one', group: 'Do', words: 'create browse', run: () => void showNewChannel() },
    { id: 'channel.next', title: 'Next channel', group: 'Go to', keys: ['alt+ArrowDown'], quiet: true, run: () => stepChannel(1) },
    { id: 'channel.previous', title: 'Previous channel', group: 'Go to', keys: ['alt+ArrowUp'], quiet: true, run: () => stepChannel(-1) },
    { id: 'unread.next', title: 'Next unread channel', group: 'Go to', keys: ['alt+shift+ArrowDown', 'n'], run: () => unread(1) },
    { id: 'unread.previous', title: 'Previous unread channel', group: 'Go to', keys: ['alt+shift+ArrowUp'], quiet: true, run: () => unread(-1) },
    { id: 'unread.direct', title: 'Next unread direct message', group: 'Go to', keys: ['p'], run: () => unread(1, 'direct') },
    { id: 'escape', title: 'Close, then mark as read', group: 'Do', keys: ['Escape'], quiet: true, when: () => !document.querySelector('dialog[open], [popover]:popover-open'), run: escape },
    { id: 'read.all', title: 'Mark everything as read', group: 'Do', keys: ['shift+Escape'], run: () => void allRead() },
    { id: 'region.next', title: 'Next region', group: 'Go to', keys: ['F6', 'mod+F6'], quiet: true, run: () => nextRegion(false) },
    { id: 'region.previous', title: 'Previous region', group: 'Go to', keys: ['shift+F6'], quiet: true, run: () => nextRegion(true) },
    { id: 'theme.light', title: 'Light', group: 'Appearance', words: 'theme', run: () => look.set({ theme: 'light' }) },
    { id: 'theme.dark', title: 'Dark', group: 'Appearance', words: 'theme', run: () => look.set({ theme: 'dark' }) },
    { id: 'theme.system', title: 'Light or dark as the system', group: 'Appearance', words: 'theme', run: () => look.set({ theme: 'system' }) },
    { id: 'taste', title: 'Appearance and keys…', group: 'Appearance', words: 'settings density contrast', run: () => void showTaste() },
    { id: 'telegram', title: 'Decide from Telegram…', group: 'Do', words: 'link phone bot', run: () => void showTelegram() },
    { id: 'password', title: 'Password and sessions…', group: 'Do', words: 'change account security keys', run: () => void showPassword() },
    { id: 'help', title: 'Keys', group: 'Help', keys: ['?'], words: 'shortcuts keyboard', run: () => void showHelp() },
    { id: 'signout', title: 'Sign out', group: 'Do', words: 'logout', run: () => void hub.signOut() },
  ];
}

export const paletteCommands = (): Command[] => commands.list.filter((it) => !it.quiet && (!it.when || it.when()));
export const currentIsDirect = (): boolean => {
  const channel = hub.data.channels.get(current());
  return channel ? isDirect(channel) : false;
};
