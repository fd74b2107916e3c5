import { describe, expect, it } from 'vitest';
import { Purpose, QUIET_MS, type Press } from './purpose';

const press = (key: string, more: Partial<Press> = {}): Press => ({ key, modified: false, repeat: false, composing: false, inField: false, covered: false, ...more });

/** Types a text key by key; tells at which letters a decision would have been taken. */
function type(purpose: Purpose, text: string, from: number, gap: number, more: Partial<Press> = {}): string[] {
  const taken: string[] = [];
  [...text].forEach((key, at) => {
    const now = from + at * gap;
    if (/[ad]/.test(key) && purpose.allows(press(key, more), 'decide', now)) taken.push(key);
    else purpose.missed(press(key, more), now);
  });
  return taken;
}

describe('a letter', () => {
  it('decides when nothing was typed before it', () => {
    expect(new Purpose().allows(press('a'), 'decide', 5)).toBe(true);
  });

  it('never decides in a field, under a dialog or menu, inside a composed word, or held down', () => {
    for (const more of [{ inField: true }, { covered: true }, { composing: true }, { repeat: true }]) {
      expect(new Purpose().allows(press('a', more), 'decide', 5)).toBe(false);
    }
  });

  it('does nothing for a moment after a dialog closed, and does something again afterwards', () => {
    const purpose = new Purpose();
    purpose.closed(100);
    expect(purpose.allows(press('a'), 'decide', 100 + QUIET_MS - 1)).toBe(false);
    expect(purpose.allows(press('e'), 'act', 100 + QUIET_MS - 1)).toBe(false);
    expect(purpose.allows(press('a'), 'decide', 100 + QUIET_MS)).toBe(true);
  });

  it('is part of what is typed, in whichever field, as long as the typing goes on', () => {
    const purpose = new Purpose();
    expect(type(purpose, 'not a good ', 0, 150, { inField: true })).toEqual([]);
    // The field goes away in the middle of the sentence.
    expect(type(purpose, 'idea and a half, dad', 11 * 150, 150)).toEqual([]);
    expect(type(purpose, 'slowly a d a', 10_000, QUIET_MS - 1)).toEqual([]);
    const over = 10_000 + 11 * (QUIET_MS - 1) + QUIET_MS;
    expect(purpose.allows(press('a'), 'decide', over)).toBe(true);
  });

  it('of a composed word counts as typing', () => {
    const purpose = new Purpose();
    purpose.missed(press('Process', { composing: true, inField: true }), 0);
    expect(purpose.allows(press('a'), 'decide', 10)).toBe(false);
  });

  it('that only moves the mark works while keys come quickly, also held down, but not in a field', () => {
    const purpose = new Purpose();
    purpose.missed(press('x'), 0);
    purpose.closed(0);
    expect(purpose.allows(press('j'), 'move', 1)).toBe(true);
    expect(purpose.allows(press('j', { repeat: true }), 'move', 2)).toBe(true);
    expect(purpose.allows(press('j', { inField: true }), 'move', 3)).toBe(false);
    expect(purpose.allows(press('j', { covered: true }), 'move', 3)).toBe(false);
  });
});

describe('what counts as text', () => {
  it('is what puts a sign somewhere, not what steers', () => {
    const purpose = new Purpose();
    expect(purpose.missed(press('Shift'), 0)).toBe(false);
    expect(purpose.missed(press('Escape'), 0)).toBe(false);
    expect(purpose.missed(press('k', { modified: true }), 0)).toBe(false);
    // A sign made with the third level of a keyboard.
    expect(purpose.missed(press('å', { modified: true, inField: true }), 0)).toBe(true);
    expect(purpose.missed(press(' '), 0)).toBe(true);
  });
});
