import { describe, expect, it, vi } from 'vitest';

vi.mock('./hub.svelte', () => ({ hub: {} }));
const { daemonCommand, isPlainName } = await import('./keys');

describe('the line for another machine', () => {
  it('names the hub, the key and the agent that works there', () => {
    expect(daemonCommand('ws://hub/ws', 'lr_1', { name: 'laptop', engine: 'codex' })).toBe('MOOT_AGENTD__API_KEY=lr_1 MOOT_AGENTD__SERVER=ws://hub/ws MOOT_AGENTS__LAPTOP__ENGINE=codex moot agentd');
    expect(daemonCommand('ws://hub/ws', 'lr_1')).toBe('MOOT_AGENTD__API_KEY=lr_1 MOOT_AGENTD__SERVER=ws://hub/ws moot agentd');
  });

  it('takes only names that a shell takes as part of a variable', () => {
    expect(['laptop', 'Box2'].every(isPlainName)).toBe(true);
    expect(['my-box', '2box', 'a b', 'a;b', '', 'ä'].some(isPlainName)).toBe(false);
  });
});
