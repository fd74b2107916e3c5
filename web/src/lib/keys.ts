/** Keys of agents and machines: made anew, shown once. */
import type { Component } from 'svelte';
import * as api from './api';
import { dialogs } from './dialogs.svelte';
import { hub } from './hub.svelte';
import { complain } from './toasts.svelte';
import type { Member } from './types';

export const lark = (): string => `${location.origin.replace(/^http/, 'ws')}/ws`;

export async function showKey(name: string, key: string): Promise<void> {
  const { default: KeyShown } = await import('../components/KeyShown.svelte');
  await dialogs.show(KeyShown as unknown as Component<never>, { title: 'Key', sticky: true, name, key, server: lark(), wide: true });
}

/** An agent that another machine works as: its name is part of a variable there, so it is one plain word. */
export const isPlainName = (name: string): boolean => /^[a-z][a-z0-9]{0,40}$/i.test(name);

/** The line that starts a daemon on another machine, and lets it work as this agent. */
export function daemonCommand(server: string, key: string, agent?: { name: string; engine: string }): string {
  const carried = agent ? ` MOOT_AGENTS__${agent.name.toUpperCase()}__ENGINE=${agent.engine}` : '';
  return `MOOT_AGENTD__API_KEY=${key} MOOT_AGENTD__SERVER=${server}${carried} moot agentd`;
}

/** The key with the line that uses it. */
export async function showMachineKey(name: string, key: string, agent?: { name: string; engine: string }): Promise<void> {
  const { default: KeyShown } = await import('../components/KeyShown.svelte');
  const command = daemonCommand(lark(), key, agent);
  await dialogs.show(KeyShown as unknown as Component<never>, { title: 'Key of a machine', sticky: true, name, key, server: lark(), command, wide: true });
}

export async function rotate(member: Member): Promise<void> {
  const sure = await dialogs.confirm({
    title: `A new key for ${member.name}?`,
    text: 'The old key stops working at once, wherever it is in use.',
    yes: 'Make a new key',
    danger: true,
  });
  if (!sure) return;
  try {
    await showKey(member.name, (await api.members.newKey(hub.ws, member.id)).api_key);
  } catch (error) {
    complain(error);
  }
}
