/** How far threads were looked at in this browser: the hub knows that only of threads that one began. */
import { keep, kept } from './storage';

/** So many threads are remembered; the oldest are forgotten. */
const MAX_KEPT = 300;

type Seen = [root: string, seq: number][];

export const seenIn = (root: string): number => (kept<Seen>('threads_seen') ?? []).find(([known]) => known === root)?.[1] ?? 0;

export function seen(root: string, seq: number): void {
  if (seq <= seenIn(root)) return;
  const others = (kept<Seen>('threads_seen') ?? []).filter(([known]) => known !== root);
  keep('threads_seen', [...others, [root, seq] as Seen[number]].slice(-MAX_KEPT));
}
