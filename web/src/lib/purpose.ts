/**
 * Whether a letter was pressed on purpose as a command, or is a piece of something that somebody types. A letter that goes nowhere is as
 * good as typed: whoever types into a field that just went away must not set off what the letters happen to mean. Pure; time is an argument.
 */

/** After typing, and after a dialog or menu went away, letters do nothing for so long. */
export const QUIET_MS = 1000;
/** What was selected just now cannot have been read. */
export const READ_MS = 500;

export interface Press {
  key: string;
  /** With Ctrl, Alt or ⌘. */
  modified: boolean;
  /** Of a key that is held down. */
  repeat: boolean;
  /** Inside of a word that is still being put together (Chinese, Japanese, accents). */
  composing: boolean;
  inField: boolean;
  /** A dialog or a menu is open. */
  covered: boolean;
}

/** How careful to be: `move` only moves a mark, `decide` cannot be taken for granted, `act` is everything between. */
export type Weight = 'move' | 'act' | 'decide';

export class Purpose {
  private typedAt = -Infinity;
  private closedAt = -Infinity;

  /** A single key without Ctrl or Alt may set off a command of this weight. */
  allows(press: Press, weight: Weight, now: number): boolean {
    if (press.inField || press.covered || press.composing) return false;
    if (weight === 'move') return true;
    return !press.repeat && this.isQuiet(now);
  }

  /** Whether nothing was typed, and nothing closed, within the last moment. */
  isQuiet(now: number): boolean {
    return now - Math.max(this.typedAt, this.closedAt) >= QUIET_MS;
  }

  /** A key that was no command. Returns whether it is a piece of text. */
  missed(press: Press, now: number): boolean {
    const isText = press.composing || (press.key.length === 1 && (press.inField || !press.modified));
    if (isText) this.typedAt = now;
    return isText;
  }

  /** A dialog or a menu went away. */
  closed(now: number): void {
    this.closedAt = now;
  }
}

export const purpose = new Purpose();
