import { afterEach, describe, expect, it, vi } from 'vitest';
import { getList } from './api';

afterEach(() => vi.unstubAllGlobals());

/** Answers one after the other, and keeps what was asked. */
function hub(...answers: Response[]) {
  const asked: Record<string, string>[] = [];
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
    asked.push(init.headers as Record<string, string>);
    return Promise.resolve(answers.shift());
  });
  return asked;
}

const tagged = (list: unknown, tag: string) => new Response(JSON.stringify(list), { headers: { etag: tag } });

describe('long lists', () => {
  it('that have not changed are not sent again', async () => {
    const asked = hub(tagged(['a'], 'W/"1"'), new Response(null, { status: 304 }), tagged(['a', 'b'], 'W/"2"'));
    expect(await getList('lists/one')).toEqual(['a']);
    expect(await getList('lists/one')).toEqual(['a']);
    expect(await getList('lists/one')).toEqual(['a', 'b']);
    expect(asked.map((it) => it['if-none-match'])).toEqual([undefined, 'W/"1"', 'W/"1"']);
  });

  it('without a mark are fetched whole each time', async () => {
    const asked = hub(new Response('["a"]'), new Response('["b"]'));
    expect(await getList('lists/two')).toEqual(['a']);
    expect(await getList('lists/two')).toEqual(['b']);
    expect(asked.map((it) => it['if-none-match'])).toEqual([undefined, undefined]);
  });
});
