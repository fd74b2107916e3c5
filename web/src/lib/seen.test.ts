import { beforeEach, describe, expect, it, vi } from 'vitest';

const store = new Map<string, string>();
vi.stubGlobal('localStorage', { getItem: (key: string) => store.get(key) ?? null, setItem: (key: string, value: string) => store.set(key, value), removeItem: (key: string) => store.delete(key) });
const { seen, seenIn } = await import('./seen');

beforeEach(() => store.clear());

describe('how far a thread was looked at', () => {
  it('only grows', () => {
    expect(seenIn('msg_1')).toBe(0);
    seen('msg_1', 5);
    seen('msg_1', 3);
    expect(seenIn('msg_1')).toBe(5);
  });

  it('is kept of the last threads only', () => {
    for (let at = 0; at < 400; at += 1) seen(`msg_${at}`, 1);
    expect(seenIn('msg_0')).toBe(0);
    expect(seenIn('msg_399')).toBe(1);
  });
});
