// Another machine: `moot agentd` as a process with a folder of its own, working as one agent with the fake engine.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLAUDE } from './engine.mjs';
import { BINARY } from './hub.mjs';

export class Daemon {
  /** Makes the agent and a project with a work tree per thread, and starts. */
  static async start(owner, name, channels = [owner.general]) {
    const daemon = new Daemon();
    daemon.home = join(owner.hub.home, `machine-of-${name}`);
    const project = join(daemon.home, 'project');
    mkdirSync(project, { recursive: true });
    for (const words of [['init', '--quiet', '--initial-branch=main'], ['-c', 'user.name=t', '-c', 'user.email=t@example.org', 'commit', '--quiet', '--allow-empty', '-m', 'x']]) {
      execFileSync('git', ['-C', project, ...words]);
    }
    const key = await machineKey(owner, `machine-of-${name}`);
    const agent = await owner.call('POST', `${owner.ws}/members`, { name, type: 'agent' });
    for (const channel of channels) await owner.call('POST', `${owner.ws}/channels/${channel.id}/members`, { member_id: agent.id });
    writeFileSync(
      join(daemon.home, 'agentd.toml'),
      `[agentd]
server = "ws://127.0.0.1:${owner.hub.port}/ws"
api_key = "${key}"
socket = "${join(daemon.home, 's')}"
[engines.claude]
command = "${CLAUDE}"
[agents.${name}]
engine = "claude"
project = "${project}"
worktrees = true
`,
    );
    daemon.run();
    return daemon;
  }

  run() {
    const args = ['agentd', '--config', join(this.home, 'agentd.toml'), '--data-dir', join(this.home, 'data')];
    this.process = spawn(BINARY, args, { env: { PATH: process.env.PATH, HOME: this.home }, cwd: this.home, stdio: 'ignore' });
    this.over = new Promise((done) => this.process.once('exit', done));
  }

  /** The lid is closed. */
  async stop() {
    this.process.kill('SIGTERM');
    await this.over;
  }
}

/** The key of a machine; on a hub that has none, that of an agent which carries others. */
async function machineKey(owner, name) {
  const unknown = (error) => (/→ 40[45]/.test(error.message) ? null : Promise.reject(error));
  const machine = await owner.call('POST', `${owner.ws}/machines`, { name }).catch(unknown);
  return machine?.key ?? (await owner.call('POST', `${owner.ws}/members`, { name, type: 'agent' })).api_key;
}
