/** Everything one can do by name or by key, in one list: the palette shows it, the keyboard uses it, help explains it. */
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

export function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  for (const command of [...commands.list].reverse()) {
    for (const keys of command.keys ?? []) {
      if (!isPressed(keys, event)) continue;
      const isSingle = !/mod|alt|Escape|F\d/.test(keys);
      if (isSingle && (isTyping(event.target) || !look.taste.singleKeys)) continue;
      if (isSingle && document.querySelector('dialog[open]')) continue;
      if (command.when && !command.when()) continue;
      event.preventDefault();
      command.run(event);
      return;
    }
  }
}
