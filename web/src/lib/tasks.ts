/** Tasks: their columns, their order, and what a key does to the one that has the focus. */
import * as api from './api';
import { hub } from './hub.svelte';
import { touchNow } from './live.svelte';
import { complain } from './toasts.svelte';
import type { Priority, Task, TaskStatus } from './types';

export const columns: { status: TaskStatus; title: string }[] = [
  { status: 'todo', title: 'To do' },
  { status: 'in_progress', title: 'In progress' },
  { status: 'review', title: 'In review' },
  { status: 'done', title: 'Done' },
];

export const priorities: Priority[] = ['urgent', 'high', 'medium', 'low'];

export interface TaskFilter {
  mine: boolean;
  channel: string;
  text: string;
}

export function sorted(tasks: Iterable<Task>, filter: TaskFilter, me: string): Task[] {
  const words = filter.text.trim().toLowerCase();
  const wanted = (task: Task): boolean =>
    (!filter.mine || task.assigned_to === me) &&
    (!filter.channel || task.channel_id === filter.channel) &&
    (!words || `${task.title} ${task.description}`.toLowerCase().includes(words));
  const weight = (task: Task): number => priorities.indexOf(task.priority);
  return [...tasks].filter(wanted).sort((a, b) => weight(a) - weight(b) || b.updated_at - a.updated_at);
}

/** The neighbouring column, or the same at the edge. */
export function stepped(status: TaskStatus, step: 1 | -1): TaskStatus {
  const at = columns.findIndex((column) => column.status === status) + step;
  return columns[Math.min(columns.length - 1, Math.max(0, at))]!.status;
}

/** Shown at once; taken back when the hub refuses. */
export async function change(task: Task, body: Parameters<typeof api.tasks.change>[1]): Promise<void> {
  const put = (it: Task): void => {
    hub.data.tasks.set(it.id, it);
    touchNow('tasks');
  };
  put({ ...task, ...body } as Task);
  try {
    put(await api.tasks.change(task.id, body));
  } catch (error) {
    put(task);
    complain(error);
  }
}

/** What there is: the list, and what was told while it was on its way, which it may not hold yet. */
export function current(listed: Task[], before: ReadonlyMap<string, Task>, now: ReadonlyMap<string, Task>): Task[] {
  const told = [...now.values()].filter((it) => before.get(it.id) !== it);
  const newer = new Map(told.map((it) => [it.id, it]));
  const kept = listed.filter((it) => (newer.get(it.id)?.updated_at ?? -1) < it.updated_at);
  const replaced = new Set(kept.map((it) => it.id));
  const gone = (it: Task) => before.has(it.id) && !now.has(it.id);
  return [...kept.filter((it) => !gone(it)), ...told.filter((it) => !replaced.has(it.id))];
}

export async function load(): Promise<void> {
  const before = new Map(hub.data.tasks);
  const listed = await api.tasks.list(hub.ws, { limit: 500 });
  const tasks = current(listed, before, hub.data.tasks);
  hub.data.tasks.clear();
  for (const task of tasks) hub.data.tasks.set(task.id, task);
  touchNow('tasks');
}
