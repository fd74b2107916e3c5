#!/usr/bin/env node
// A claude as far as the hub can see one: the same words on the command line, the same lines in and out (see the fixtures of
// crates/engines). What it is asked decides what it does; after a restart it goes on with the session that it is given.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const words = process.argv.slice(2);
if (words.includes('--version')) end('2.1.0 (Claude Code)');
if (words.includes('--help')) end('--input-format');

function end(text) {
  console.log(text);
  process.exit(0);
}

const resumed = words.indexOf('--resume');
const session = resumed < 0 ? `session-${process.pid}` : words[resumed + 1];
const say = (line) => process.stdout.write(`${JSON.stringify({ session_id: session, ...line })}\n`);
const use = (id, name, input) => say({ type: 'assistant', message: { role: 'assistant', content: [{ type: 'tool_use', id, name, input }] } });
const used = (id, content) => say({ type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content, is_error: false }] } });
const result = (text) => say({ type: 'result', subtype: 'success', is_error: false, result: text, total_cost_usd: 0.25, usage: { input_tokens: 3, output_tokens: 2 } });

/** While it waits to be corrected. */
let corrects = false;

function work(prompt) {
  // Without the sign: an answer that mentions somebody wakes them.
  const asked = prompt.split('asks you:\n').at(-1).replaceAll('@', '');
  if (corrects) {
    corrects = false;
    return result(`You corrected me: ${asked}`);
  }
  say({ type: 'system', subtype: 'init', model: 'sonnet', cwd: process.cwd() });
  if (asked.includes('watch')) {
    use('t1', 'Bash', { command: 'npm test' });
    used('t1', '12 passed, 0 failed');
    return result('All tests pass.');
  }
  if (asked.includes('take your time')) return use('t1', 'Bash', { command: 'sleep 600' });
  if (asked.includes('begin')) {
    corrects = true;
    return use('t1', 'Bash', { command: 'make everything' });
  }
  if (asked.includes('change')) {
    use('t1', 'Write', { file_path: 'notes.md', content: '# Notes\nremember the milk\n' });
    writeFileSync('notes.md', '# Notes\nremember the milk\n');
    used('t1', 'written');
    return result('I changed notes.md.');
  }
  if (asked.includes('risky')) {
    use('t1', 'Bash', { command: 'rm -rf build' });
    return say({ type: 'control_request', request_id: 'ask-1', request: { subtype: 'can_use_tool', tool_name: 'Bash', input: { command: 'rm -rf build' } } });
  }
  result(`I read: ${asked}`);
}

function decided({ behavior, message }) {
  if (behavior === 'allow') {
    used('t1', 'removed');
    return result('Done, build is gone.');
  }
  result(`I left it alone, because: ${message}`);
}

createInterface({ input: process.stdin }).on('line', (text) => {
  const line = JSON.parse(text);
  if (line.type === 'user') {
    const { content } = line.message;
    work(typeof content === 'string' ? content : content.map((it) => it.text ?? '').join('\n'));
  } else if (line.type === 'control_response') decided(line.response.response);
  else if (line.type === 'control_request') say({ type: 'control_response', response: { subtype: 'success', request_id: line.request_id, response: {} } });
});
