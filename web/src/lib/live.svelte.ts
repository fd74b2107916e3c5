/** Between plain data and views: a view watches topics, whoever changed the data touches them, and views run once per frame. */
import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

const versions = new SvelteMap<string, number>();
const dirty = new Set<string>();
let scheduled = false;
let fallback: ReturnType<typeof setTimeout> | undefined;

/** Call inside `$derived` or a template before reading data of this topic. */
export function watch(...topics: string[]): void {
  for (const topic of topics) versions.get(topic);
}

/** Says that topics changed; views follow with the next frame, or soon when the tab is hidden. */
export function touch(...topics: string[]): void {
  for (const topic of topics) dirty.add(topic);
  if (scheduled || dirty.size === 0) return;
  scheduled = true;
  // A tab behind others may get no frames for a while.
  fallback = setTimeout(flush, 120);
  if (typeof document !== 'undefined' && !document.hidden) requestAnimationFrame(flush);
}

/** At once: for what somebody just did with their own hands. */
export function touchNow(...topics: string[]): void {
  for (const topic of topics) dirty.add(topic);
  flush();
}

function flush(): void {
  scheduled = false;
  clearTimeout(fallback);
  const topics = [...dirty];
  dirty.clear();
  // Whoever touches must not come to depend on what it touches.
  untrack(() => {
    for (const topic of topics) versions.set(topic, (versions.get(topic) ?? 0) + 1);
  });
}

/** A clock for elapsed times and "5 min ago": one timer for the page, running only while somebody looks. */
class Clock {
  seconds = $state(Math.floor(Date.now() / 1000));
  constructor() {
    setInterval(() => {
      if (typeof document === 'undefined' || !document.hidden) this.seconds = Math.floor(Date.now() / 1000);
    }, 1000);
  }
}
export const clock = new Clock();
