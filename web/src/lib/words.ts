/** Times, sizes and states as words. */
import type { Delivery, Member, Presence, Run } from './types';

/** Made when first used: a browser takes its time to make one. */
function format(options: Intl.DateTimeFormatOptions): (at: number) => string {
  let made: Intl.DateTimeFormat | undefined;
  return (at) => (made ??= new Intl.DateTimeFormat(undefined, options)).format(at);
}

export const clockTime = format({ hour: '2-digit', minute: '2-digit' });
export const fullTime = format({ dateStyle: 'full', timeStyle: 'medium' });
const dayOfYear = format({ weekday: 'long', day: 'numeric', month: 'long' });
const dayOfAnyYear = format({ day: 'numeric', month: 'long', year: 'numeric' });

const midnight = (at: number): number => new Date(at).setHours(0, 0, 0, 0);
export const isSameDay = (a: number, b: number): boolean => a - b < 86_400_000 && b - a < 86_400_000 && midnight(a) === midnight(b);

export function dayName(at: number, now: number): string {
  const days = Math.round((midnight(now) - midnight(at)) / 86_400_000);
  if (days === 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return days < 300 ? dayOfYear(at) : dayOfAnyYear(at);
}

/** How long, in at most two parts: `42 s`, `3 min 5 s`, `2 h 10 min`. */
export function span(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d`;
}

export function ago(at: number, now: number): string {
  const s = Math.floor((now - at) / 1000);
  if (s < 45) return 'just now';
  if (s < 3600) return `${Math.max(1, Math.round(s / 60))} min ago`;
  if (s < 86_400) return `${Math.round(s / 3600)} h ago`;
  return `${dayName(at, now)}, ${clockTime(at)}`;
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = bytes;
  let unit = '';
  for (unit of units) {
    value /= 1000;
    if (value < 1000) break;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

export const plural = (n: number, one: string, many = `${one}s`): string => `${n.toLocaleString()} ${n === 1 ? one : many}`;

/** A title without the marks of Markdown, for a single line. */
export const plain = (title: string): string => title.replace(/[`*]+/g, '').replace(/\s+/g, ' ').trim();

export function money(usd: number): string {
  return `$${usd < 0.1 ? usd.toFixed(3) : usd.toFixed(2)}`;
}

export function presenceWord(member: Member): string {
  const words: Record<Presence, string> = { online: 'online', idle: 'away', dnd: 'do not disturb', sleeping: 'asleep', offline: 'offline' };
  return words[member.status];
}

export function runWord(run: Run): string {
  if (run.stop_requested && (run.state === 'running' || run.state === 'waiting')) return 'stopping';
  const words: Record<Run['state'], string> = { running: 'working', waiting: 'waits for a decision', completed: 'done', failed: 'failed', cancelled: 'stopped' };
  return words[run.state];
}

/** A delivery in one or two words, and how it should look. */
export function deliveryWord(delivery: Delivery): { text: string; tone: '' | 'good' | 'warn' | 'bad' | 'info' } {
  const { state, why } = delivery;
  if (state === 'queued') {
    if (why === 'offline') return { text: 'waits: offline', tone: 'warn' };
    if (why === 'busy') return { text: 'waits: busy', tone: 'info' };
    return { text: why && why !== 'collecting' ? `waits: ${why}` : 'about to wake', tone: '' };
  }
  if (state === 'leased') return { text: 'woken', tone: 'info' };
  if (state === 'admitted') return { text: 'on it', tone: 'info' };
  if (state === 'answered') return { text: 'answered', tone: '' };
  if (state === 'passed') return { text: why ? `passed: ${why}` : 'passed', tone: '' };
  if (state === 'failed') return { text: why ? `failed: ${why}` : 'failed', tone: 'bad' };
  if (state === 'expired') return { text: 'expired unanswered', tone: 'bad' };
  if (state === 'suppressed') return { text: 'held back', tone: 'warn' };
  return { text: why?.startsWith('joined') ? 'joined' : 'cancelled', tone: '' };
}

/** What a browser calls itself, in two words; programs are called what they call themselves. */
export function deviceName(agent: string): string {
  const browser = /Edg\//.test(agent) ? 'Edge' : /OPR\//.test(agent) ? 'Opera' : /Firefox\//.test(agent) ? 'Firefox' : /Chrome\//.test(agent) ? 'Chrome' : /Safari\//.test(agent) ? 'Safari' : '';
  const system = /Android/.test(agent) ? 'Android' : /iPhone|iPad/.test(agent) ? 'iOS' : /Windows/.test(agent) ? 'Windows' : /Mac OS/.test(agent) ? 'macOS' : /Linux|X11/.test(agent) ? 'Linux' : '';
  if (browser) return system ? `${browser} on ${system}` : browser;
  return agent || 'A program';
}
