// The fake engine of support/claude.mjs, for a hub that hosts agents with it.
import { join } from 'node:path';
import { until } from './page.mjs';

export const CLAUDE = join(import.meta.dirname, 'claude.mjs');

/** For `Hub.start`: a hub whose claude is the fake. */
export const WITH_CLAUDE = { MOOT_ENGINES__CLAUDE__COMMAND: CLAUDE };

/** An agent that the hub hosts with it, ready to be woken. */
export async function hosted(owner, name) {
  const agent = await owner.agent(name, { engine: 'claude' });
  await until(async () => (await owner.call('GET', '/v1/hosting')).some((it) => it.name === name && it.state === 'running'), `${name} is running`);
  return agent;
}
