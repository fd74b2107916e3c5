// What the tests of the kit share: an agent of the kit in a channel of a real hub, and looking until there is something to see.
import { Agent } from 'folkmoot-agent';

export { Hub } from '../../../web/tests/e2e/support/hub.mjs';
export { Cable } from '../../../web/tests/e2e/support/cable.mjs';

const WAIT_TIMEOUT_MS = 60_000;

/** An agent's key, and the agent in #general. */
export async function member(owner, name) {
  const made = await owner.call('POST', `${owner.ws}/members`, { name, type: 'agent' });
  await owner.call('POST', `${owner.ws}/channels/${owner.general.id}/members`, { member_id: made.id });
  return made;
}

/** An agent of the kit that is connected; `url` where it does not speak to the hub itself. */
export async function connected(owner, name, handler, { url = owner.hub.url, ...options } = {}) {
  const made = await member(owner, name);
  const lines = [];
  const agent = new Agent({ url, key: made.api_key, firstPauseMs: 20, log: (line) => lines.push(line), ...options }).onMention(handler);
  const over = agent.run().then(() => null, (error) => error);
  await until(async () => (await owner.call('GET', `${owner.ws}/members/${made.id}`)).online, `${name} is here`);
  return { agent, id: made.id, key: made.api_key, over, lines, end: () => (agent.stop(), over) };
}

/** All that was said in #general, the oldest first. */
export async function said(owner, by) {
  const all = await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=200&replies=true`);
  return all.reverse().filter((message) => !by || message.sender_id === by);
}

/** The newest wake of the agent about a message. */
export async function delivery(owner, message) {
  const all = await owner.call('GET', `/v1/channels/${owner.general.id}/deliveries?message_id=${message.id}`);
  return all[0];
}

/** The wake about a message, once it is over. */
export function settled(owner, message) {
  const over = ['answered', 'passed', 'failed', 'cancelled'];
  return until(async () => [await delivery(owner, message)].find((it) => over.includes(it?.state)), `the end of the wake by "${message.content}"`);
}

/** Looks again and again until there is something true to see. */
export async function until(check, what) {
  const giveUp = Date.now() + WAIT_TIMEOUT_MS;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > giveUp) throw new Error(`never came: ${what}`);
    await new Promise((done) => setTimeout(done, 30));
  }
}

/** A promise with its ends outside. */
export function deferred() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
