// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { door } from './doors';
import { columns, current, sorted, stepped } from './tasks';
import type { Task } from './types';

const task = (id: string, fields: Partial<Task> = {}): Task => ({
  id,
  workspace_id: 'ws',
  title: id,
  description: '',
  status: 'todo',
  priority: 'medium',
  channel_id: null,
  message_id: null,
  assigned_to: null,
  created_by: 'ann',
  created_at: 1,
  updated_at: 1,
  ...fields,
});

const everything = { mine: false, channel: '', text: '' };
const ids = (tasks: Task[]) => tasks.map((it) => it.id);

describe('tasks', () => {
  it('are listed by priority, then the newest change first', () => {
    const all = [task('old'), task('new', { updated_at: 2 }), task('urgent', { priority: 'urgent' }), task('low', { priority: 'low', updated_at: 9 })];
    expect(ids(sorted(all, everything, 'ann'))).toEqual(['urgent', 'new', 'old', 'low']);
  });

  it('are filtered by whose they are, where they are, and what they say', () => {
    const all = [task('mine', { assigned_to: 'ann' }), task('there', { channel_id: 'ch_1' }), task('words', { description: 'Write the NOTES' })];
    expect(ids(sorted(all, { ...everything, mine: true }, 'ann'))).toEqual(['mine']);
    expect(ids(sorted(all, { ...everything, channel: 'ch_1' }, 'ann'))).toEqual(['there']);
    expect(ids(sorted(all, { ...everything, text: ' notes ' }, 'ann'))).toEqual(['words']);
  });

  it('that were told while the list was on its way are kept, and those that went stay away', () => {
    const map = (...tasks: Task[]) => new Map(tasks.map((it) => [it.id, it]));
    const [known, gone, stale] = [task('known'), task('gone'), task('stale')];
    const changed = task('known', { updated_at: 2, title: 'changed' });
    const now = map(changed, stale, task('made'));
    const seen = current([known, gone, task('listed')], map(known, gone, stale), now);
    expect(seen.map((it) => it.title).sort()).toEqual(['changed', 'listed', 'made']);
    const newest = task('known', { updated_at: 3, title: 'newest' });
    expect(current([newest], map(known), map(changed)).map((it) => it.title)).toEqual(['newest']);
  });

  it('move from column to column and stay at the edges', () => {
    const order = columns.map((it) => it.status);
    expect(order.map((status) => stepped(status, 1))).toEqual(['in_progress', 'review', 'done', 'done']);
    expect(order.map((status) => stepped(status, -1))).toEqual(['todo', 'todo', 'in_progress', 'review']);
  });
});

describe('doors', () => {
  it('have the address under which this page is known, or their own', () => {
    const shared = door({ door: 'lark', path: '/ws', status: 'open' }, 'https://hub.example');
    expect(shared.address).toBe('wss://hub.example/ws');
    expect(shared.test).toContain('https://hub.example/ws');
    const own = door({ door: 'smarthole', address: '127.0.0.1:9473', status: 'closed', error: 'in use' }, 'https://hub.example');
    expect([own.address, own.error]).toEqual(['ws://127.0.0.1:9473', 'in use']);
    expect(door({ door: 'snek', status: 'off' }, 'http://x').test).toBe('');
  });
});
