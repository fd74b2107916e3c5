/** Questions that stand in the way until they are answered. `confirm` for yes or no, `show` for a component of one's own. */
import { untrack, type Component } from 'svelte';
import type { Shown } from './types';

export interface Question {
  title: string;
  text?: string;
  /** What an agent wants to do, in full: the buttons stand below all of it. */
  shown?: Shown;
  /** The button that does it. */
  yes: string;
  /** A second way to go on; the answer is then `false`. */
  other?: string;
  danger?: boolean;
  /** Has to be typed first: for what cannot be taken back. */
  typed?: string;
  /** Asks for a text as well. */
  note?: { label: string; required?: boolean; value?: string };
}

interface Open {
  id: number;
  question?: Question;
  component?: Component<Record<string, unknown>>;
  props?: Record<string, unknown>;
  resolve(value: unknown): void;
}

class Dialogs {
  stack = $state.raw<Open[]>([]);
  private next = 1;

  private push(open: Omit<Open, 'id' | 'resolve'>): Promise<unknown> {
    return new Promise((resolve) => {
      this.stack = [...untrack(() => this.stack), { ...open, id: this.next++, resolve }];
    });
  }

  /** Resolves to the note (or true) when confirmed, to false for the second way, to null otherwise. */
  confirm(question: Question): Promise<string | boolean | null> {
    return this.push({ question }) as Promise<string | boolean | null>;
  }

  /** The component gets `close(value)` besides its props. */
  show<T = unknown>(component: Component<never>, props: Record<string, unknown> = {}): Promise<T | null> {
    return this.push({ component: component as unknown as Open['component'], props }) as Promise<T | null>;
  }

  close(id: number, value: unknown): void {
    const open = this.stack.find((one) => one.id === id);
    this.stack = this.stack.filter((one) => one.id !== id);
    open?.resolve(value);
  }
}

export const dialogs = new Dialogs();
