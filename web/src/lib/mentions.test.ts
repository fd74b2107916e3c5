import { describe, expect, it } from 'vitest';
import { absentIn, agentsIn, listed, mayBeAdded, mentionedNames } from './mentions';
import { Data } from './store/data';
import type { Channel, Member } from './types';

function room(kind: Channel['type'], here: string[]): Data {
  const data = new Data();
  data.me = 'mem_ann';
  for (const name of ['ann', 'bob', 'coder']) data.members.set(`mem_${name}`, { id: `mem_${name}`, name, type: name === 'coder' ? 'agent' : 'human' } as Member);
  data.channels.set('ch', { id: 'ch', name: 'design', type: kind, member_ids: here, is_member: true, archived: false } as unknown as Channel);
  return data;
}

describe('mentions', () => {
  it('are words that begin with @, less the signs behind them, each once', () => {
    expect(mentionedNames('Hey @codebot, can you and @bob! look?')).toEqual(['codebot', 'bob']);
    expect(mentionedNames('mail me at a@b.c')).toEqual([]);
    expect(mentionedNames('@ nobody @, either')).toEqual([]);
    expect(mentionedNames('@codebot:\n@codebot again')).toEqual(['codebot']);
  });

  it('of people and agents who are not in the channel are absent, in the order they were named', () => {
    const data = room('channel', ['mem_ann']);
    expect(absentIn(data, 'ch', '@Coder and @bob, look').members.map((it) => it.name)).toEqual(['coder', 'bob']);
    expect(absentIn(data, 'ch', '@coder @CODER').members).toHaveLength(1);
    expect(absentIn(room('channel', ['mem_ann', 'mem_coder']), 'ch', '@coder').members).toEqual([]);
  });

  it('of oneself are no absence, and names that nobody has are said', () => {
    const data = room('channel', []);
    expect(absentIn(data, 'ch', '@ann @codr')).toEqual({ members: [], unknown: ['codr'] });
    expect(absentIn(data, 'ch', 'no sign at all')).toEqual({ members: [], unknown: [] });
    expect(absentIn(data, 'elsewhere', '@codr')).toEqual({ members: [], unknown: [] });
  });

  it('of agents that are here are told from those of people', () => {
    const data = room('channel', ['mem_ann', 'mem_bob', 'mem_coder']);
    expect(agentsIn(data, 'ch', '@bob @Coder, look').map((it) => it.name)).toEqual(['coder']);
    expect(agentsIn(room('channel', ['mem_ann']), 'ch', '@coder')).toEqual([]);
  });

  it('bring nobody into a direct conversation', () => {
    expect(mayBeAdded(room('channel', ['mem_ann']), 'ch')).toBe(true);
    expect(mayBeAdded(room('dm', ['mem_ann']), 'ch')).toBe(false);
  });

  it('are listed as people say it', () => {
    expect([listed([]), listed(['a']), listed(['a', 'b']), listed(['a', 'b', 'c'])]).toEqual(['', 'a', 'a and b', 'a, b and c']);
  });
});
