/** Everything one can do by name or by key, in one list: the palette shows it, the keyboard uses it, help explains it. */
import { dialogs } from './dialogs.svelte';
import { purpose, type Press, type Weight } from './purpose';
import { look } from './theme.svelte';

export interface Command {
  id: string;
  title: string;
  /** Shown as a heading in the palette and in help. */
  group: 'Go to' | 'Do' | 'Message' | 'Appearance' | 'Help';
  /** `mod+k`, `alt+ArrowDown`, `shift+Escape`, `n`; `mod` is ⌘ on a Mac and Ctrl elsewhere. */
  keys?: string[];
  /** Words that find it besides its title. */
  words?: string;
  /** Hidden and idle unless this says yes. */
  when?(): boolean;
  /** Not in the palette. */
  quiet?: boolean;
  /** How careful to be with a single key; see `lib/purpose`. */
  weight?: Weight;
  run(event?: KeyboardEvent): void;
}

class Commands {
  list = $state.raw<Command[]>([]);
  /** The same list, for writing: who registers must not depend on what others register. */
  private all: Command[] = [];

  /** Registers; returns what takes it back, for `$effect`. */
  add(...commands: Command[]): () => void {
    this.list = this.all = [...this.all, ...commands];
    return () => {
      this.list = this.all = this.all.filter((command) => !commands.includes(command));
    };
  }
}

export const commands = new Commands();

const isMac = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform);

export function describe(keys: string): string {
  const names: Record<string, string> = {
    mod: isMac ? '⌘' : 'Ctrl',
    alt: isMac ? '⌥' : 'Alt',
    shift: isMac ? '⇧' : 'Shift',
    ArrowUp: '↑',
    ArrowDown: '↓',
    Escape: 'Esc',
  };
  return keys.split('+').map((part) => names[part] ?? part.toUpperCase()).join(isMac ? '' : ' ');
}

function isPressed(keys: string, event: KeyboardEvent): boolean {
  const parts = keys === '+' ? ['+'] : keys.split('+');
  const key = parts.pop()!;
  const mod = isMac ? event.metaKey : event.ctrlKey;
  const otherMod = isMac ? event.ctrlKey : event.metaKey;
  if (parts.includes('mod') !== mod || otherMod) return false;
  if (parts.includes('alt') !== event.altKey) return false;
  const isLetterless = key.length === 1 && !/[a-z0-9.]/i.test(key);
  if (!isLetterless && parts.includes('shift') !== event.shiftKey) return false;
  return event.key === key || event.key.toLowerCase() === key.toLowerCase();
}

export function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true]');
}

/** Called with every piece of text that was no command, wherever it went. */
const listeners = new Set<() => void>();
export function onTyped(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const isCovered = (): boolean => dialogs.stack.length > 0 || !!document.querySelector('dialog[open], [popover]:popover-open');

function pressOf(event: KeyboardEvent): Press {
  return {
    key: event.key,
    modified: event.ctrlKey || event.metaKey || event.altKey,
    repeat: event.repeat,
    // Some browsers tell of composing only by this number.
    composing: event.isComposing || event.keyCode === 229,
    inField: isTyping(event.target),
    covered: isCovered(),
  };
}

export function onKey(event: KeyboardEvent): void {
  const press = pressOf(event);
  const now = performance.now();
  if (!event.defaultPrevented && !press.composing && runCommand(event, press, now)) return;
  if (purpose.missed(press, now)) listeners.forEach((listener) => listener());
}

function runCommand(event: KeyboardEvent, press: Press, now: number): boolean {
  for (const command of [...commands.list].reverse()) {
    if (!command.keys?.some((keys) => isPressed(keys, event) && mayRun(keys, command, press, now))) continue;
    if (command.when && !command.when()) continue;
    event.preventDefault();
    command.run(event);
    return true;
  }
  return false;
}

function mayRun(keys: string, command: Command, press: Press, now: number): boolean {
  const isSingle = !/mod|alt|Escape|F\d/.test(keys);
  // Held down, one dialog would open over the other, and Escape would close more than it was meant for.
  if (press.repeat && /mod|Escape/.test(keys)) return false;
  return !isSingle || (look.taste.singleKeys && purpose.allows(press, command.weight ?? 'act', now));
}
