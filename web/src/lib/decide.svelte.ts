/** Decisions about what agents ask. A click decides at once; a key decides after a moment, in which it is shown and can be taken back. */
import { announcer } from './announce.svelte';
import { onTyped } from './commands.svelte';
import { dialogs } from './dialogs.svelte';
import { hub } from './hub.svelte';
import { inOneLine, shownOf } from './shown';
import { complain, toast } from './toasts.svelte';
import type { Approval } from './types';

export const UNDO_MS = 3000;
const TICK_MS = 100;
/** After questions came or went, a click may be meant for what was there before. */
const SETTLE_MS = 400;

export interface Decision {
  approved: boolean;
  scope: 'once' | 'run';
  note?: string;
}

export interface Waiting extends Decision {
  id: string;
  what: string;
  left: number;
}

class Decisions {
  /** Decided with a key, not yet sent. */
  waiting = $state.raw<Waiting[]>([]);
  /** No question came or went just now. */
  settled = $state(true);
  private timer: ReturnType<typeof setInterval> | undefined;
  private settling: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    // Whoever goes on typing after a letter decided something did not mean the letter.
    onTyped(() => this.undoAll('Taken back, because you went on typing.'));
  }

  /** A question came or went, and moved what is below it. */
  moved(): void {
    this.settled = false;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => (this.settled = true), SETTLE_MS);
  }

  /** Not the second of two clicks, and not on what has just come under the hand. */
  isMeant(event: MouseEvent): boolean {
    return event.detail <= 1 && this.settled;
  }

  later(approval: Approval, decision: Decision): void {
    if (this.waiting.some((it) => it.id === approval.id)) return;
    this.waiting = [...this.waiting, { ...decision, id: approval.id, what: inOneLine(approval), left: UNDO_MS }];
    this.timer ??= setInterval(() => this.tick(), TICK_MS);
    announcer.now(`Will be ${decision.approved ? 'allowed' : 'denied'} in ${UNDO_MS / 1000} seconds. Enter or Z takes it back.`);
  }

  /** Those that can still be taken back. */
  get open(): Waiting[] {
    return this.waiting.filter((it) => it.left > 0);
  }

  undo(id = this.open.at(-1)?.id): void {
    this.waiting = this.waiting.filter((it) => it.id !== id || it.left <= 0);
    announcer.now('Taken back. Nothing was decided.');
  }

  /** Whoever goes to another view takes along what can be taken back. */
  takeAlong(): void {
    for (const { id, approved, what, left } of this.open) {
      toast(`Will be ${approved ? 'allowed' : 'denied'}: ${what}`, { ms: left, action: { label: 'Undo', run: () => this.undo(id) } });
    }
  }

  undoAll(why: string): void {
    if (!this.open.length) return;
    this.waiting = this.waiting.filter((it) => it.left <= 0);
    toast(why);
  }

  /** While a dialog lies over the page nobody can take anything back: the time stands still. */
  private tick(): void {
    if (!this.open.length) {
      clearInterval(this.timer);
      this.timer = undefined;
      return;
    }
    if (dialogs.stack.length) return;
    const due = this.open.filter((it) => it.left <= TICK_MS);
    this.waiting = this.waiting.map((it) => ({ ...it, left: it.left - TICK_MS }));
    for (const one of due) void this.send(one);
  }

  private async send({ id, approved, scope, note, what }: Waiting): Promise<void> {
    try {
      await hub.decide(id, { approved, scope, note });
      announcer.say(`${approved ? 'Allowed' : 'Denied'}: ${what}`);
    } catch (error) {
      complain(error);
      void hub.loadApproval(id).catch(complain);
    } finally {
      this.waiting = this.waiting.filter((it) => it.id !== id);
    }
  }
}

export const decisions = new Decisions();

/** Before something is allowed that is destructive, or that was not looked at as a whole: all of it, and a second yes. */
export async function isSure(approval: Approval, wasSeen: boolean): Promise<boolean> {
  const shown = shownOf(approval);
  if (wasSeen && !shown.warning) return true;
  const title = shown.warning ? 'This can destroy things' : 'All of it';
  return (await dialogs.confirm({ title, shown, yes: 'Allow it', danger: !!shown.warning, typed: shown.warning ? 'allow' : undefined })) !== null;
}

/** Asks for the reason of a no; null when it was left. */
export async function whyNot(approval: Approval): Promise<string | null> {
  const stop = approval.kind === 'brake';
  const question = { title: stop ? 'Stop here?' : 'Deny', text: inOneLine(approval), yes: stop ? 'Stop' : 'Deny', danger: true, note: { label: 'Tell the agent why (it reads this)' } };
  const answer = await dialogs.confirm(question);
  return answer === null ? null : String(answer);
}
