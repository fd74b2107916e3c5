// An agent that connects by itself and works as an engine does: it takes a wake, begins a run, shows actions, asks, answers.
// What it does is given by the test as a function of the prompt; how it speaks is the protocol of docs/doors/lark.md.
import { Lark } from '../tests/e2e/support/hub.mjs';

export class Agent {
  /** Makes the account and connects. `work(run, prompt)` is called for every wake. */
  static async join(owner, name, work, channels = [owner.general]) {
    const agent = new Agent();
    Object.assign(agent, { owner, name, work, runs: new Map() });
    agent.member = await owner.call('POST', `${owner.ws}/members`, { name, type: 'agent' });
    for (const channel of channels) {
      await owner.call('POST', `${owner.ws}/channels/${channel.id}/members`, { member_id: agent.member.id });
    }
    await agent.connect();
    return agent;
  }

  async connect() {
    this.lark = await Lark.connect(this.owner.hub, this.member.api_key);
    const hear = this.lark.hear.bind(this.lark);
    this.lark.hear = (frame) => {
      hear(frame);
      if (frame.type === 'agent.wake') void this.wake(frame.data).catch((error) => (this.failure = error));
      if (frame.type === 'run.stop') this.runs.get(frame.data.run_id)?.stop();
    };
    this.lark.say('agent.hello', { role_card: { system_prompt: `I am ${this.name}.`, capabilities: [] } });
    await this.lark.expect('agent.welcome').catch(() => {});
  }

  leave() {
    this.lark.close();
  }

  async wake(data) {
    const delivery = data.context.delivery;
    const open = [...this.runs.values()].find((run) => !run.over && run.channel === data.channel_id);
    const messages = await Promise.all(delivery.message_ids.map((id) => this.owner.call('GET', `/v1/messages/${id}`)));
    const prompt = messages.map((it) => it.content).join('\n');
    if (open && this.steers) {
      this.lark.say('wake.join', { delivery_id: delivery.id, run_id: open.id });
      open.steer(prompt);
      return;
    }
    const run = await Run.start(this, data.channel_id, delivery);
    try {
      await this.work(run, prompt);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      run.over = true;
      run.say('run.complete', { state: 'cancelled', error: 'stopped' });
    }
  }
}

export class Stopped extends Error {}

class Run {
  static async start(agent, channel, delivery) {
    const started = await agent.lark.ask('run.start', { delivery_id: delivery.id, engine: 'script', machine: 'here' });
    const run = new Run();
    Object.assign(run, { agent, channel, id: started.data.run.id, steered: [], over: false });
    run.stopped = new Promise((_, fail) => (run.stop = () => fail(new Stopped())));
    run.stopped.catch(() => {});
    run.steering = new Promise((done) => (run.steer = (text) => (run.steered.push(text), done(text))));
    agent.runs.set(run.id, run);
    return run;
  }

  say(type, data) {
    this.agent.lark.say(type, { run_id: this.id, ...data });
  }

  /** Something it does: a row that changes in place. */
  action(id, kind, title, detail = {}) {
    this.say('run.action', { id, kind, title, phase: 'started', detail });
    return { done: (ok = true, more = {}) => this.say('run.action', { id, kind, title, phase: 'completed', ok, detail: { ...detail, ...more } }) };
  }

  /** Asks before it acts; resolves to the decision. */
  async ask(action, payload) {
    const asked = await this.agent.lark.ask('approval.request', { channel_id: this.channel, action, payload: JSON.stringify(payload), kind: 'permission', run_id: this.id });
    const decided = this.agent.lark.expect('approval.result', (data) => data.id === asked.data.id, 120_000);
    return (await Promise.race([decided, this.stopped])).data;
  }

  async changes(changes, diff) {
    this.say('run.changes', { changes });
    const response = await fetch(`${this.agent.owner.hub.url}/v1/runs/${this.id}/diff`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${this.agent.member.api_key}`, 'content-type': 'text/plain' },
      body: diff,
    });
    if (!response.ok) throw new Error(`the diff was refused: ${response.status} ${await response.text()}`);
  }

  answer(text, more = {}) {
    this.over = true;
    this.say('run.complete', { state: 'completed', answer: text, ...more });
  }
}
