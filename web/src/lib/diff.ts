/** Unified diffs as files with lines. Pure; never fails, and no line of a change is left out, whatever it is given. */

export interface DiffLine {
  kind: 'add' | 'remove' | 'same' | 'hunk' | 'note';
  text: string;
  old?: number;
  now?: number;
}

export interface DiffFile {
  path: string;
  from: string;
  kind: 'added' | 'modified' | 'deleted' | 'renamed';
  binary: boolean;
  added: number;
  removed: number;
  lines: DiffLine[];
}

/** What git writes between the name of a file and its first change; everything else that is not understood is shown as a note. */
const HEADER = /^(index |(old|new|deleted file|new file) mode |similarity index |dissimilarity index |rename to |copy (from|to) |\\ )/;

const strip = (path: string): string => path.replace(/^"?[abiwc]\//, '').replace(/"$/, '').replace(/\t.*$/, '');

export function readDiff(text: string): DiffFile[] {
  const files: DiffFile[] = [];
  let file: DiffFile | undefined;
  let old = 0;
  let now = 0;
  let oldLeft = 0;
  let nowLeft = 0;
  const open = (path: string): DiffFile => {
    const fresh: DiffFile = { path, from: path, kind: 'modified', binary: false, added: 0, removed: 0, lines: [] };
    files.push(fresh);
    return fresh;
  };
  for (const line of text.split('\n')) {
    if (oldLeft > 0 || nowLeft > 0) {
      const mark = line[0];
      if (mark === '+') {
        file!.lines.push({ kind: 'add', text: line.slice(1), now: now++ });
        file!.added += 1;
        nowLeft -= 1;
        continue;
      }
      if (mark === '-') {
        file!.lines.push({ kind: 'remove', text: line.slice(1), old: old++ });
        file!.removed += 1;
        oldLeft -= 1;
        continue;
      }
      if (mark === ' ' || line === '') {
        file!.lines.push({ kind: 'same', text: line.slice(1), old: old++, now: now++ });
        oldLeft -= 1;
        nowLeft -= 1;
        continue;
      }
      if (mark === '\\') continue;
      oldLeft = nowLeft = 0;
    }
    if (line.startsWith('diff --git ')) {
      const paths = /^diff --git "?a\/(.*?)"? "?b\/(.*?)"?$/.exec(line);
      file = open(paths?.[2] ?? line.slice(11));
      if (paths) file.from = paths[1]!;
    } else if (line.startsWith('--- ')) {
      if (!file || file.lines.length) file = open(strip(line.slice(4)));
      if (line === '--- /dev/null') file.kind = 'added';
    } else if (line.startsWith('+++ ') && file) {
      if (line === '+++ /dev/null') file.kind = 'deleted';
      else file.path = strip(line.slice(4));
    } else if (line.startsWith('rename from ') && file) {
      file.kind = 'renamed';
      file.from = line.slice(12);
    } else if (line.startsWith('new file') && file) file.kind = 'added';
    else if (line.startsWith('deleted file') && file) file.kind = 'deleted';
    else if (/^(Binary files|GIT binary patch)/.test(line) && file) file.binary = true;
    else if (line.startsWith('@@')) {
      const at = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)/.exec(line);
      file ??= open('');
      if (!at) {
        file.lines.push({ kind: 'hunk', text: line });
        continue;
      }
      old = Number(at[1]);
      now = Number(at[3]);
      oldLeft = at[2] === undefined ? 1 : Number(at[2]);
      nowLeft = at[4] === undefined ? 1 : Number(at[4]);
      file.lines.push({ kind: 'hunk', text: line });
    } else if (line !== '' && !HEADER.test(line)) {
      file ??= open('');
      const kind = line[0] === '+' ? 'add' : line[0] === '-' ? 'remove' : line[0] === ' ' ? 'same' : 'note';
      if (kind === 'add') file.added += 1;
      if (kind === 'remove') file.removed += 1;
      file.lines.push({ kind, text: kind === 'note' ? line : line.slice(1) });
    }
  }
  return files;
}

/**
 * The changes of one file whose name is known: every line is shown for what its first sign says. Nothing is taken for the head of another
 * file, since what is changed may have been written to look like one.
 */
export function readChanges(text: string, path: string): DiffFile {
  const file: DiffFile = { path, from: path, kind: 'modified', binary: false, added: 0, removed: 0, lines: [] };
  let old = 0;
  let now = 0;
  const lines = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
  lines.forEach((line, at) => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) [old, now] = [Number(hunk[1]), Number(hunk[2])];
    if (line.startsWith('@@')) file.lines.push({ kind: 'hunk', text: line });
    else if (at < 2 && /^(---|\+\+\+) /.test(line) && file.lines.every((it) => it.kind === 'note')) file.lines.push({ kind: 'note', text: line });
    else if (line[0] === '+') {
      file.lines.push({ kind: 'add', text: line.slice(1), now: now ? now++ : undefined });
      file.added += 1;
    } else if (line[0] === '-') {
      file.lines.push({ kind: 'remove', text: line.slice(1), old: old ? old++ : undefined });
      file.removed += 1;
    } else if (line[0] === ' ' || line === '') file.lines.push({ kind: 'same', text: line.slice(1), old: old ? old++ : undefined, now: now ? now++ : undefined });
    else file.lines.push({ kind: 'note', text: line });
  });
  return file;
}
