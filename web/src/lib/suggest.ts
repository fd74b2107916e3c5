/** What is being typed right now that the page can complete: `@name`, `#channel`, `:emoji`, `/command`. Pure. */

export interface Trigger {
  sign: '@' | '#' | ':' | '/';
  query: string;
  /** Where the sign stands. */
  at: number;
}

export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const found = /(^|[\s([{"'>])([@#:])([\p{L}\p{N}._+-]{0,40})$/u.exec(before);
  if (found) {
    const sign = found[2] as Trigger['sign'];
    const query = found[3]!;
    // One letter after a colon is more often a smiley than a name.
    if (sign === ':' && query.length < 2) return null;
    return { sign, query, at: caret - query.length - 1 };
  }
  const command = /^\/([a-z]{0,20})$/.exec(before);
  return command ? { sign: '/', query: command[1]!, at: 0 } : null;
}

/** Puts the completion in the place of what was typed; a space follows. */
export function complete(text: string, caret: number, trigger: Trigger, value: string): { text: string; caret: number } {
  const after = text.slice(caret);
  const gap = after.startsWith(' ') ? '' : ' ';
  const head = text.slice(0, trigger.at) + value + gap;
  return { text: head + after, caret: head.length + (gap ? 0 : 1) };
}

/** Best first: names that begin with the query, then names with a part that does, then names that hold it. */
export function rank<T>(items: T[], query: string, nameOf: (item: T) => string): T[] {
  const wanted = query.toLowerCase();
  const score = (item: T): number => {
    const name = nameOf(item).toLowerCase();
    if (name.startsWith(wanted)) return 0;
    if (name.split(/[\s._-]+/).some((part) => part.startsWith(wanted))) return 1;
    return name.includes(wanted) ? 2 : 9;
  };
  return items
    .map((item) => ({ item, points: score(item) }))
    .filter((it) => it.points < 9)
    .sort((a, b) => a.points - b.points)
    .map((it) => it.item);
}
