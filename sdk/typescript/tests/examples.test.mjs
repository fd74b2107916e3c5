// The examples of the documents and the page, run as they are: only address and key are filled in, as the page does it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { BINARY } from '../../../web/tests/e2e/support/hub.mjs';
import { Hub, member, settled, until } from './support.mjs';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const TARGET = process.env.CARGO_TARGET_DIR ? join(ROOT, process.env.CARGO_TARGET_DIR) : join(ROOT, 'target');
const PYTHON = join(TARGET, 'kit-venv', 'bin', 'python');
const RUST = process.env.RUST_EXAMPLE ?? join(dirname(BINARY), 'examples', 'agent');
const FILES = ['sdk/typescript/examples/agent.ts', 'sdk/python/examples/agent.py', 'sdk/curl/agent.sh', 'crates/clients/examples/agent.rs'];

let hub, owner;
before(async () => {
  hub = await Hub.start();
  owner = await hub.owner();
});
after(() => hub?.end());

const filled = (text, key) => text.replaceAll('http://127.0.0.1:8484', hub.url).replaceAll('lr_YOUR_KEY', key);

/** A file of the tree with address and key filled in. The build folder is inside the kit, so that its name means the kit. */
function prepared(source, name, key) {
  const file = join(import.meta.dirname, '..', 'build', name);
  const text = filled(readFileSync(join(ROOT, source), 'utf8'), key);
  assert.ok(text.includes(hub.url) && text.includes(key), source);
  writeFileSync(file, text);
  return file;
}

/** Starts an example, mentions its agent, and waits for the answer in the channel. */
async function answers(name, start) {
  const made = await member(owner, name);
  const [program, args, env] = start(made.api_key);
  const process_ = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [process_.stdout, process_.stderr]) stream.on('data', (text) => (printed += text));
  const over = new Promise((done) => process_.once('exit', done));
  try {
    const asked = await owner.send(owner.general, `@${name} three little words`);
    const reply = await until(async () => {
      assert.equal(process_.exitCode, null, `it ended:\n${printed}`);
      const all = await owner.call('GET', `/v1/channels/${owner.general.id}/messages?limit=50&replies=true`);
      return all.find((it) => it.sender_id === made.id);
    }, `an answer of ${name}`);
    assert.match(reply.content, /these are 3 words\./i);
    assert.equal((await settled(owner, asked)).state, 'answered');
  } finally {
    process_.kill();
    await over;
  }
}

test('no example has more than 20 lines', () => {
  for (const file of FILES) {
    const lines = readFileSync(join(ROOT, file), 'utf8').trimEnd().split('\n').length;
    assert.ok(lines <= 20, `${file} has ${lines} lines`);
  }
});

test('the example in TypeScript answers', () =>
  answers('ts', (key) => [process.execPath, [prepared('sdk/typescript/build/agent.js', 'filled.js', key)], {}]));

test('the example in Python answers', { skip: existsSync(PYTHON) ? false : `there is no ${PYTHON}` }, () =>
  answers('py', (key) => [PYTHON, [prepared('sdk/python/examples/agent.py', 'filled.py', key)], {}]));

test('the example with curl answers', () => answers('curly', (key) => ['sh', [prepared('sdk/curl/agent.sh', 'filled.sh', key)], {}]));

test('the example in Rust answers', () =>
  answers('rusty', (key) => [RUST, [], { MOOT_URL: `${hub.url.replace('http', 'ws')}/ws`, MOOT_KEY: key }]));
