/** Reading what an agent asks for. Pure. */
import type { Approval } from './types';

export interface Ask {
  /** One line: what it wants. */
  title: string;
  why: string;
  /** The exact command, if there is one. */
  command: string;
  diff: string;
  /** Text it wants to post (a brake). */
  text: string;
  /** Everything else, as it came. */
  rest: [string, string][];
  place: string;
  destructive: boolean;
}

const DANGER =
  /\brm\s+-[a-z]*[rf]|\bgit\s+(push\s+.*(-f\b|--force)|reset\s+--hard|clean\s+-)|\bdrop\s+(table|database)\b|\bdelete\s+from\b|\bmkfs\b|\bdd\s+if=|\bshutdown\b|\bkill\s+-9|\bchmod\s+-R|\bterraform\s+(apply|destroy)|\bkubectl\s+delete|>\s*\/dev\/sd|\bnpm\s+publish|\bcargo\s+publish/i;

const LIMITS: Record<string, string> = {
  depth: 'The chain of agents is long',
  wakes: 'Many agents were woken for one message',
  pair: 'Two agents talk back and forth',
  row: 'Many messages of agents in a row',
};

export function readAsk(approval: Approval): Ask {
  let payload: Record<string, unknown> = {};
  let raw = '';
  try {
    const parsed: unknown = JSON.parse(approval.payload || '{}');
    if (parsed && typeof parsed === 'object' && !Array.isArray(parsed)) payload = parsed as Record<string, unknown>;
    else raw = approval.payload;
  } catch {
    raw = approval.payload;
  }
  const taken = new Set<string>();
  const take = (...names: string[]): string => {
    for (const name of names) {
      const value = payload[name];
      if (value === undefined || value === null || value === '') continue;
      taken.add(name);
      return Array.isArray(value) ? value.map(String).join(' ') : typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
    }
    return '';
  };
  const command = take('command', 'cmd', 'shell', 'script');
  const diff = take('diff', 'patch');
  const why = take('reason', 'why', 'description', 'justification');
  const place = take('cwd', 'dir', 'workspace', 'path', 'file_path', 'file');
  const brake = approval.kind === 'brake';
  const text = brake ? take('text') : take('message', 'text');
  const rest = Object.entries(payload)
    // Of a brake, the text is what there is to decide about; the rest is for the hub.
    .filter(([name]) => !brake && !taken.has(name))
    .map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : JSON.stringify(value, null, 2)]);
  if (raw) rest.push(['details', raw]);
  const limit = LIMITS[String(payload.limit ?? '')];
  return {
    title: brake ? 'wants to go on' : approval.action,
    why: brake && limit ? `${limit}. The text waits until somebody says go on.` : why,
    command,
    diff,
    text,
    rest,
    place,
    destructive: DANGER.test(`${command}\n${approval.action}`),
  };
}
