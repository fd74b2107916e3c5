// The hub as a process: the built binary on a free port with a folder of its own; stopped, killed, started again.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { WebSocketClient } from './websocket.mjs';

const root = resolve(import.meta.dirname, '../../../..');
const target = process.env.CARGO_TARGET_DIR ? resolve(root, process.env.CARGO_TARGET_DIR) : join(root, 'target');
export const BINARY = process.env.MOOT_BINARY ?? join(target, 'debug', 'moot');
const WAIT_TIMEOUT_MS = 40_000;
export const PASSWORD = 'correct horse';

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

export class Hub {
  /** Starts a hub that nobody uses yet. `env` adds configuration; `path` says from its home where it finds programs. */
  static async start({ path, ...env } = {}) {
    if (!existsSync(BINARY)) throw new Error(`there is no ${BINARY}; build it with \`cargo build -p folkmoot-moot\``);
    const hub = new Hub();
    hub.home = mkdtempSync(join(tmpdir(), 'folkmoot-page-'));
    hub.data = join(hub.home, 'data');
    hub.work = join(hub.home, 'work');
    mkdirSync(hub.work);
    hub.port = await freePort();
    hub.env = path ? { PATH: path(hub.home), ...env } : env;
    await hub.run();
    return hub;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async run() {
    const env = {
      PATH: process.env.PATH,
      HOME: this.home,
      XDG_CONFIG_HOME: join(this.home, 'config'),
      XDG_DATA_HOME: join(this.home, 'share'),
      MOOT_SMARTHOLE__ENABLED: 'false',
      MOOT_SERVER__PUBLIC_URL: this.url,
      // No test meets a deadline of the hub because the machine is busy.
      MOOT_SERVER__HEADER_TIMEOUT_S: '600',
      MOOT_SERVER__WRITE_TIMEOUT_S: '600',
      ...this.env,
    };
    const args = ['serve', '--listen', `127.0.0.1:${this.port}`, '--data-dir', this.data];
    this.process = spawn(BINARY, args, { env, cwd: this.work, stdio: ['ignore', 'pipe', 'pipe'] });
    this.log = '';
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (text) => (this.log += text));
    this.over = new Promise((done) => this.process.once('exit', done));
    await this.ready();
  }

  async ready() {
    const giveUp = Date.now() + WAIT_TIMEOUT_MS;
    for (;;) {
      if (this.process.exitCode !== null) throw new Error(`the hub ended:\n${this.log}`);
      const answer = await fetch(`${this.url}/readyz`).catch(() => null);
      if (answer?.ok) return;
      if (Date.now() > giveUp) throw new Error(`the hub is not ready:\n${this.log}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  /** The power cut. */
  async kill() {
    this.process.kill('SIGKILL');
    await this.over;
  }

  async end() {
    this.process.kill('SIGTERM');
    await this.over;
    rmSync(this.home, { recursive: true, force: true });
  }

  async call(method, path, { token, body, headers } = {}) {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      body: body ? JSON.stringify(body) : undefined,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} → ${response.status}: ${text}`);
    return text ? JSON.parse(text) : null;
  }

  /** The owner's account, made over REST, with #general. */
  async owner(name = 'ann') {
    const session = await this.call('POST', '/v1/auth/register', { body: { name, email: `${name}@example.org`, password: PASSWORD, workspace_name: 'Acme' } });
    const owner = new Member(this, session);
    owner.general = await owner.channel('general');
    return owner;
  }
}

/** Somebody with an account, acting over REST. */
export class Member {
  constructor(hub, session) {
    this.hub = hub;
    this.session = session;
  }

  get ws() {
    return `/v1/workspaces/${this.session.workspace_id}`;
  }

  call(method, path, body, headers) {
    return this.hub.call(method, path, { token: this.session.token, body, headers });
  }

  channel(name, body = {}) {
    return this.call('POST', `${this.ws}/channels`, { name, ...body });
  }

  send(channel, content, more = {}) {
    return this.call('POST', `/v1/channels/${channel.id}/messages`, { content, ...more });
  }

  /** Another person of the workspace, by invitation. */
  async colleague(name) {
    const invite = await this.call('POST', `${this.ws}/invites`, {});
    const session = await this.hub.call('POST', '/v1/auth/join', { body: { code: invite.code, name, password: PASSWORD } });
    return new Member(this.hub, session);
  }

  /** An agent that the hub hosts; `script` plays a file. */
  async agent(name, more = {}) {
    const made = await this.call('POST', '/v1/hosting', { name, engine: 'script', policy: 'ask', ...more });
    return made.agent;
  }
}

/** An agent that connects by itself over Lark, for what no engine does. */
export class Lark {
  static async connect(hub, key) {
    const lark = new Lark();
    lark.heard = [];
    lark.waiting = [];
    lark.socket = new WebSocketClient(`${hub.url.replace('http', 'ws')}/ws`);
    await lark.socket.opened;
    lark.socket.onText = (text) => lark.hear(JSON.parse(text));
    lark.say('auth.login', { token: key });
    await lark.expect('auth.success');
    return lark;
  }

  hear(frame) {
    this.heard.push(frame);
    this.waiting = this.waiting.filter((wait) => !wait(frame));
  }

  /** Returns the id under which an answer comes back. */
  say(type, data) {
    const id = randomUUID();
    this.socket.send(JSON.stringify({ v: 1, id, type, ts: Date.now(), data }));
    return id;
  }

  ask(type, data) {
    const id = this.say(type, data);
    return this.find((frame) => frame.reply_to === id, `an answer to ${type}`);
  }

  expect(type, fits = () => true, ms) {
    return this.find((frame) => frame.type === type && fits(frame.data), type, ms);
  }

  find(fits, what, ms = WAIT_TIMEOUT_MS) {
    const known = this.heard.find(fits);
    if (known) return Promise.resolve(known);
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`no ${what} came; heard: ${this.heard.map((it) => it.type).join(' ')}`)), ms);
      timer.unref();
      this.waiting.push((frame) => {
        if (!fits(frame)) return false;
        clearTimeout(timer);
        done(frame);
        return true;
      });
    });
  }

  close() {
    this.socket.close();
  }
}
