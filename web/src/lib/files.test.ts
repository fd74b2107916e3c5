import { describe, expect, it } from 'vitest';
import { joined, splitFiles, withFiles } from './files';

const file = (n: number, filename = `picture-${n}.png`) => ({ id: `file_${n}`, filename });

describe('several files in one message', () => {
  it('stand as links below the text, but for the first, which is the message’s own', () => {
    expect(withFiles('look', [file(1)])).toBe('look');
    expect(withFiles('look', [file(1), file(2), file(3)])).toBe('look\n\n[picture-2.png](/drive.bin/file_2)\n[picture-3.png](/drive.bin/file_3)');
    expect(withFiles('', [file(1), file(2)])).toBe('[picture-2.png](/drive.bin/file_2)');
  });

  it('are found again, whatever they are called', () => {
    for (const text of ['', 'look', 'two\n\nparagraphs']) {
      const sent = withFiles(text, [file(1), file(2, 'a [draft](x) of \\it\n.png'), file(3)]);
      expect(splitFiles(sent)).toMatchObject({ text, files: ['file_2', 'file_3'] });
    }
  });

  it('are no files where somebody writes of them in a sentence', () => {
    for (const text of ['see [a](/drive.bin/file_1) please', 'directly\n[a](/drive.bin/file_1)', '[a](/drive.bin/file_1)\n\nand more', 'nothing']) {
      expect(splitFiles(text)).toEqual({ text, files: [], links: '' });
    }
  });

  it('stay when the text above them is changed', () => {
    const { links } = splitFiles(withFiles('before', [file(1), file(2)]));
    expect(splitFiles(joined('after', links))).toMatchObject({ text: 'after', files: ['file_2'] });
    expect(joined('after', '')).toBe('after');
  });
});
