// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { renderMarkdown, renderTokens, safeHref } from './markdown';
import { Random } from './store/fake-hub';

const html = (text: string, context = {}) => {
  const box = document.createElement('div');
  box.append(renderMarkdown(text, context));
  return box;
};

describe('markdown', () => {
  it('renders what people write', () => {
    expect(html('**a** *b* ~~c~~ `d`').innerHTML).toBe('<p><strong>a</strong> <em>b</em> <del>c</del> <code>d</code></p>');
    expect(html('one\ntwo').innerHTML).toBe('<p>one<br>two</p>');
    expect(html('1. a\n2. b').querySelectorAll('ol > li').length).toBe(2);
    expect(html('- [x] a\n- [ ] b').querySelectorAll('input[disabled]').length).toBe(2);
    expect(html('| a | b |\n|---|--:|\n| 1 | 2 |').querySelector('td.align-right')?.textContent).toBe('2');
    expect(html('> q').querySelector('blockquote')?.textContent).toBe('q');
  });

  it('shows code as it is, with its language', () => {
    const code = html('```rust\nlet x = "<b>";\n```').querySelector('pre code') as HTMLElement;
    expect(code.textContent).toBe('let x = "<b>";');
    expect(code.dataset.lang).toBe('rust');
  });

  it.each([
    '<img src=x onerror=alert(1)>',
    '<script>alert(1)</script>',
    '<a href="javascript:alert(1)">x</a>',
    '<svg/onload=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](vbscript:x)',
    '![x](https://evil.example/p.png)',
    '![x](javascript:alert(1))',
    '<https://a.example/"onmouseover="alert(1)>',
    '[a](https://x "title\\" onmouseover=alert(1)")',
    '[x]: javascript:alert(1)\n[x]',
    '<style>*{display:none}</style>',
    '<iframe src=//evil.example></iframe>',
    '[x](//evil.example)',
    '[x](/\\evil.example)',
    '<div style="position:fixed">',
  ])('hostile text stays text: %s', (text) => {
    const box = html(text);
    expect(box.querySelector('script, img, svg, iframe, style, object, embed, form')).toBeNull();
    for (const element of box.querySelectorAll('*')) {
      for (const { name } of element.attributes) expect(name).not.toMatch(/^on|style|src$/);
      const href = element.getAttribute('href');
      if (href) expect(href).toMatch(/^(https?:|mailto:|\/(?![/\\]))/);
    }
  });

  it('only known names become mentions, and a full stop is not part of them', () => {
    const context = { member: (name: string) => (name === 'codex' ? { id: 'mem_1', me: false } : undefined) };
    const box = html('@codex. mail@codex @nobody', context);
    expect([...box.querySelectorAll('.mention')].map((it) => it.textContent)).toEqual(['@codex']);
    expect(box.textContent).toBe('@codex. mail@codex @nobody');
  });

  it('addresses', () => {
    expect(safeHref('https://a.example')).toBe('https://a.example');
    expect(safeHref('/c/1')).toBe('/c/1');
    expect(safeHref('java\nscript:alert(1)')).toBeNull();
    expect(safeHref('ftp://x')).toBeNull();
  });

  it('never fails, never loses all words, never makes an active element', () => {
    const random = new Random(42);
    const parts = ['*', '_', '`', '```', '[', ']', '(', ')', '<', '>', '#', '\n', '- ', '1. ', '|', '!', '&amp;', '\\', 'word', ' ', '@codex', 'https://a.example', '~~', '"'];
    for (let i = 0; i < 400; i += 1) {
      let text = '';
      for (let n = random.below(30); n >= 0; n -= 1) text += random.pick(parts);
      const box = html(text);
      expect(box.querySelector('script, img, iframe, style')).toBeNull();
      if (text.includes('word') && !/^\s*\[[^\]]*\]:/m.test(text) && !text.includes('```')) expect(box.innerHTML).toContain('word');
    }
  });

  it('plain words become what taking them apart would make of them', () => {
    const random = new Random(7);
    const context = { member: (name: string) => (name === 'codex' ? { id: 'mem_1', me: false } : undefined), channel: (name: string) => (name === 'general' ? { id: 'ch_1' } : undefined) };
    const signs = [...'*_`~<>[]()#|!&\\+-=:;.,?/"\'@%$^{}0123456789'];
    const parts = [...signs, '\n', '\t', ' ', '  ', '\u00a0', 'word', 'ü', '字', '@codex', '#general', 'a@b.example', 'www.', 'WWW.a.example', 'https:', 'http://a.example', 'ftp', '://', '1.', '12)', '===', '---', '&amp;', 'x. y'];
    for (let i = 0; i < 4000; i += 1) {
      let text = '';
      for (let n = random.below(9); n >= 0; n -= 1) text += random.pick(parts);
      const taken = document.createElement('div');
      taken.append(renderTokens(text, context));
      expect(html(text, context).innerHTML, JSON.stringify(text)).toBe(taken.innerHTML);
    }
  });

  it('deep nesting ends', () => {
    expect(html('> '.repeat(500) + 'x').textContent).toContain('x');
    expect(html(`${'- '.repeat(300)}x`).textContent).toContain('x');
  });
});
