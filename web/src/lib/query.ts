/** What was typed into the search field: words, and `from: in: has: before: after:`. Pure. */

export interface Query {
  words: string;
  from: string;
  in: string;
  has: string[];
  before: number;
  after: number;
}

export function readQuery(text: string): Query {
  const query: Query = { words: '', from: '', in: '', has: [], before: 0, after: 0 };
  const words: string[] = [];
  for (const part of text.match(/(?:\w+:)?"[^"]*"|\S+/g) ?? []) {
    const found = /^(from|in|has|before|after):(.+)$/i.exec(part);
    if (!found) {
      words.push(part.replace(/"/g, ''));
      continue;
    }
    const value = found[2]!.replace(/^"|"$/g, '');
    const name = found[1]!.toLowerCase();
    if (name === 'from') query.from = value.replace(/^@/, '').toLowerCase();
    else if (name === 'in') query.in = value.replace(/^#/, '').toLowerCase();
    else if (name === 'has') query.has.push(value.toLowerCase());
    else {
      const at = Date.parse(value);
      if (!Number.isNaN(at)) query[name as 'before' | 'after'] = at;
    }
  }
  query.words = words.join(' ');
  return query;
}

/** Whether there is enough to search for: two letters, or one of the conditions alone. */
export const isEnough = (query: Query): boolean =>
  query.words.trim().length > 1 || !!(query.from || query.in || query.has.length || query.before || query.after);
