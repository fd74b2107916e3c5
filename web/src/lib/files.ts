/** Several files in one message: the first is the message's own, the others stand below its text as links that every door shows. Pure. */
import type { StoredFile } from './types';

const LINE = /^\[([^\n]*)\]\(\/drive\.bin\/(file_\w+)(?:\.\w+)?\)$/;

/** A name that does not end the link it stands in. */
const label = (name: string): string => name.replace(/[\\[\]]/g, '\\$&').replace(/\s+/g, ' ');

/** The text as it is sent, with links to all files but the first. */
export function withFiles(text: string, files: Pick<StoredFile, 'id' | 'filename'>[]): string {
  const links = files.slice(1).map((file) => `[${label(file.filename)}](/drive.bin/${file.id})`);
  return links.length ? [text, links.join('\n')].filter(Boolean).join('\n\n') : text;
}

/** The text as people read it, the files that stand below it, and the lines that name them. */
export function splitFiles(content: string): { text: string; files: string[]; links: string } {
  if (!content.includes('/drive.bin/file_')) return { text: content, files: [], links: '' };
  const lines = content.split('\n');
  let from = lines.length;
  while (from > 0 && LINE.test(lines[from - 1]!)) from -= 1;
  // What follows a text directly is a part of it.
  if (from > 0 && lines[from - 1]!.trim()) return { text: content, files: [], links: '' };
  const links = lines.slice(from);
  return { text: lines.slice(0, from).join('\n').trimEnd(), files: links.map((line) => LINE.exec(line)![2]!), links: links.join('\n') };
}

/** The text changed, the files below it as they were. */
export const joined = (text: string, links: string): string => (links ? [text, links].filter(Boolean).join('\n\n') : text);
