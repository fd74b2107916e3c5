/** Whom a text mentions, and who of them would not hear of it. Pure; names are found as the hub finds them. */
import type { Data } from './store/data';
import { everybody, isDirect } from './store/select';
import type { Member } from './types';

/** Words that begin with `@`, less the signs behind them; each once, in order. */
export function mentionedNames(text: string): string[] {
  const words = text.split(/\s+/).filter((word) => word.startsWith('@'));
  const names = words.map((word) => word.slice(1).replace(/[,.!?;:)\]}"'*~`]+$/, ''));
  return [...new Set(names.filter(Boolean))];
}

export interface Absent {
  /** Members of the workspace who are not in the channel. */
  members: Member[];
  /** Names that nobody has. */
  unknown: string[];
}

const NOBODY: Absent = { members: [], unknown: [] };

/** Who is mentioned and would not be told, because they are not in this channel or not at all. */
export function absentIn(data: Data, channel: string, text: string): Absent {
  const room = data.channels.get(channel);
  const names = room && text.includes('@') ? mentionedNames(text) : [];
  if (!room || !names.length) return NOBODY;
  const byName = new Map(everybody(data).map((it) => [it.name.toLowerCase(), it]));
  const found = names.map((name) => ({ name, member: byName.get(name.toLowerCase()) }));
  const away = found.flatMap(({ member }) => (member && member.id !== data.me && !room.member_ids.includes(member.id) ? [member] : []));
  return { members: [...new Set(away)], unknown: found.filter((it) => !it.member && /^[\p{L}\p{N}]/u.test(it.name)).map((it) => it.name) };
}

/** Agents that are mentioned and here: those among them that would not be woken do not listen, or are too many. */
export function agentsIn(data: Data, channel: string, text: string): Member[] {
  const names = new Set(mentionedNames(text).map((name) => name.toLowerCase()));
  const here = new Set(data.channels.get(channel)?.member_ids);
  return everybody(data).filter((it) => it.type === 'agent' && names.has(it.name.toLowerCase()) && here.has(it.id));
}

/** A direct conversation belongs to those who are in it: nobody can be added. */
export const mayBeAdded = (data: Data, channel: string): boolean => {
  const room = data.channels.get(channel);
  return !!room && room.is_member && !room.archived && !isDirect(room);
};

/** `coder`, `coder and bob`, `coder, bob and eve`. */
export const listed = (names: string[]): string => (names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`);
