/** All views of the page: each is its own file and is loaded when it is first shown. Add a line to add a view. */
import type { Component } from 'svelte';
import { hub } from '../lib/hub.svelte';
import { watch } from '../lib/live.svelte';
import { may } from '../lib/store/select';
// The view that nearly everybody sees first comes with the page itself.
import Channel from './Channel.svelte';

export interface View {
  id: string;
  /** As `match` in `lib/router` reads it. */
  path: string;
  title: string;
  load(): Promise<{ default: Component<never> }>;
  /** Shown without the shell, also to those who are not signed in. */
  open?: boolean;
  /** Has a place in the navigation, in this order. */
  nav?: { order: number; icon: Icon; phone?: boolean };
  when?(): boolean;
}

export type Icon = 'threads' | 'tasks' | 'agents' | 'machines' | 'admin' | 'search' | 'needs' | 'calls';

/** The view gets what `:name` in its path matched as props. */
export const views: View[] = [
  { id: 'signin', path: '/signin', title: 'Sign in', open: true, load: () => import('./SignIn.svelte') },
  { id: 'setup', path: '/setup', title: 'First run', open: true, load: () => import('./Setup.svelte') },
  { id: 'join', path: '/join/:code', title: 'Join', open: true, load: () => import('./Join.svelte') },
  { id: 'channel', path: '/c/:channel/:message?', title: 'Channel', load: () => Promise.resolve({ default: Channel }) },
  { id: 'needs', path: '/needs-you', title: 'Needs you', load: () => import('./NeedsYou.svelte') },
  { id: 'search', path: '/search', title: 'Search', load: () => import('./Search.svelte') },
  { id: 'approval', path: '/approval/:id', title: 'Approval', load: () => import('./Approval.svelte') },
  { id: 'threads', path: '/threads', title: 'Threads', load: () => import('./Threads.svelte'), nav: { order: 0, icon: 'threads' } },
  { id: 'tasks', path: '/tasks/:task?', title: 'Tasks', load: () => import('./Tasks.svelte'), nav: { order: 1, icon: 'tasks', phone: true } },
  { id: 'agents', path: '/agents', title: 'Agents', load: () => import('./Agents.svelte'), nav: { order: 2, icon: 'agents', phone: true } },
  { id: 'machines', path: '/machines', title: 'Machines and doors', load: () => import('./Machines.svelte'), nav: { order: 3, icon: 'machines' } },
  { id: 'admin', path: '/admin', title: 'Administration', load: () => import('./Admin.svelte'), nav: { order: 4, icon: 'admin' }, when: administers },
];

/** The address of a view in the navigation: its path without the parts that differ. */
export const addressOf = (view: View): string => view.path.replace(/\/:.*$/, '');

function administers(): boolean {
  watch('workspace');
  return may(hub.data, 'administer');
}

/** Components that are always there once somebody is signed in: calls, notifications. */
export const overlays: (() => Promise<{ default: Component }>)[] = [
  () => import('../components/Calls.svelte'),
  () => import('../components/Notices.svelte'),
];

/** Buttons in the header of a channel or direct message; each gets `channel`. */
export const channelActions: (() => Promise<{ default: Component<{ channel: string }> }>)[] = [() => import('../components/CallButtons.svelte')];
