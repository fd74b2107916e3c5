/** What an agent asks for, in the hub's own rendering (`approval.shown`). The page adds nothing to it and leaves nothing out. Pure. */
import type { Approval, Shown, ShownPart } from './types';

/** Signs that cannot be seen or that turn the line round, as `visible` shows them: C0, C1, zero-width, bidi, tags. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** For texts of others in places where markup cannot isolate them: labels, titles, what is read out. */
export const visible = (text: string): string => text.replace(UNSEEN, (sign) => `⟨U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`);

/** A hub that does not render yet: its words and its data as text, for people to read before they decide. */
function plainly(approval: Approval): Shown {
  const parts: ShownPart[] = approval.payload && approval.payload !== '{}' ? [{ label: 'Details', kind: 'argument', text: visible(approval.payload) }] : [];
  return { heading: approval.kind === 'brake' ? 'Go on' : 'Asks for permission', warning: null, says: visible(approval.action), parts, choices: [] };
}

export const shownOf = (approval: Approval): Shown => approval.shown ?? plainly(approval);

/** One line for a notification and for what is read out: the warning first, then what it is. */
export function inOneLine(approval: Approval): string {
  const { heading, warning, says, parts } = shownOf(approval);
  const what = parts.find((it) => it.kind !== 'place')?.text ?? says ?? '';
  const line = what.split('\n').find((it) => it.trim())?.trim() ?? '';
  const more = what.trim().includes('\n') || parts.length > 1 ? ' …' : '';
  return `${warning ? `Careful, ${warning}. ` : ''}${heading}${line ? `: ${line}${more}` : ''}`;
}

/** A question with answers to choose from, or one that is answered in words. */
export const isQuestion = (approval: Approval): boolean => shownOf(approval).choices.length > 0 || approval.shown?.heading === 'A question';

/** Why the hub holds a text of an agent back, in its own words. */
const LIMITS: Record<string, string> = {
  depth: 'The chain of agents is long',
  wakes: 'Many agents were woken for one message',
  pair: 'Two agents talk back and forth',
  row: 'Many messages of agents in a row',
};

export function whyHeld(approval: Approval): string {
  const limit = approval.kind === 'brake' ? /"limit":\s*"(\w+)"/.exec(approval.payload)?.[1] : undefined;
  return limit && LIMITS[limit] ? `${LIMITS[limit]}. The text waits until somebody says go on.` : '';
}

/** The asker's words, unless they only repeat what stands there anyway, as in `Bash: ls`. */
export function wordsOf({ heading, says, parts }: Shown): string {
  if (!says) return '';
  const told = new Set([heading, heading.split(': ').slice(1).join(': '), ...parts.flatMap(({ label, text }) => [label, text, text.split('\n')[0]!])]);
  return told.has(says) || told.has(says.replace(/^[\w ]{1,40}: /, '')) ? '' : says;
}

/** The host of an address, where it stands in it: what comes before an `@` is not where it leads. */
export function hostIn(address: string): { before: string; host: string; after: string } {
  const found = /^([a-z][a-z0-9+.-]*:\/\/(?:[^/?#\\]*@)?)([^/?#\\@]+)(.*)$/is.exec(address);
  return found ? { before: found[1]!, host: found[2]!, after: found[3]! } : { before: address, host: '', after: '' };
}
