/**
 * Markdown as DOM nodes. The text is read into tokens and every token becomes a node made by hand: no HTML is ever parsed,
 * so nothing that somebody writes can become markup, an attribute or a request to another host.
 */
import { Lexer, type Token, type Tokens } from 'marked';

export interface MarkdownContext {
  /** Whether `@name` is somebody; `me` is shown stronger. */
  member?(name: string): { id: string; me: boolean } | undefined;
  channel?(name: string): { id: string } | undefined;
}

const options = { gfm: true, breaks: true } as const;
const MAX_DEPTH = 24;

/** Anything that could mean something in Markdown, also by standing at the beginning of a line. */
const MARKED = /[\\`*_~<[\]&\t\r\f\v]|:\/\/|www\.|[\w.+-]@|^$|^[\s#>=|:+-]|^\d{1,9}[.)]|\s$/im;

export function renderMarkdown(text: string, context: MarkdownContext = {}): DocumentFragment {
  return MARKED.test(text) ? renderTokens(text, context) : renderPlain(text, context);
}

/** Most messages are words and nothing else: a paragraph, without taking it apart first. */
function renderPlain(text: string, context: MarkdownContext): DocumentFragment {
  const fragment = document.createDocumentFragment();
  const paragraph = make('p');
  for (const [at, line] of text.split('\n').entries()) {
    if (at > 0) paragraph.appendChild(make('br'));
    words(paragraph, line, context);
  }
  fragment.appendChild(paragraph);
  return fragment;
}

export function renderTokens(text: string, context: MarkdownContext = {}): DocumentFragment {
  const fragment = document.createDocumentFragment();
  let tokens: Token[];
  try {
    tokens = new Lexer(options).lex(text);
  } catch {
    fragment.append(text);
    return fragment;
  }
  blocks(fragment, tokens, context, 0);
  return fragment;
}

function make<K extends keyof HTMLElementTagNameMap>(tag: K, className = ''): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className) element.className = className;
  return element;
}

function blocks(parent: Node, tokens: Token[], context: MarkdownContext, depth: number): void {
  for (const token of tokens) block(parent, token, context, depth);
}

function block(parent: Node, token: Token, context: MarkdownContext, depth: number): void {
  if (depth > MAX_DEPTH) {
    parent.appendChild(document.createTextNode(token.raw));
    return;
  }
  switch (token.type) {
    case 'space':
    case 'def':
      return;
    case 'paragraph':
      parent.appendChild(filled(make('p'), token as Tokens.Paragraph, context, depth));
      return;
    case 'heading': {
      // Headings in a message are words of a conversation, not parts of the page.
      const level = Math.min(3, (token as Tokens.Heading).depth);
      parent.appendChild(filled(make('p', `h${level}`), token as Tokens.Heading, context, depth));
      return;
    }
    case 'code':
      parent.appendChild(codeBlock((token as Tokens.Code).text, (token as Tokens.Code).lang));
      return;
    case 'blockquote': {
      const quote = make('blockquote');
      blocks(quote, (token as Tokens.Blockquote).tokens, context, depth + 1);
      parent.appendChild(quote);
      return;
    }
    case 'list':
      parent.appendChild(list(token as Tokens.List, context, depth));
      return;
    case 'table':
      parent.appendChild(table(token as Tokens.Table, context, depth));
      return;
    case 'hr':
      parent.appendChild(make('hr'));
      return;
    case 'text': {
      const inner = (token as Tokens.Text).tokens;
      if (inner) inlines(parent, inner, context, depth);
      else words(parent, decode(token.raw), context);
      return;
    }
    case 'html': {
      const paragraph = make('p');
      words(paragraph, token.raw.replace(/\n+$/, ''), context);
      parent.appendChild(paragraph);
      return;
    }
    default:
      inline(parent, token, context, depth);
  }
}

function filled(element: HTMLElement, token: { tokens?: Token[] }, context: MarkdownContext, depth: number): HTMLElement {
  inlines(element, token.tokens ?? [], context, depth + 1);
  return element;
}

function list(token: Tokens.List, context: MarkdownContext, depth: number): HTMLElement {
  const element = token.ordered ? make('ol') : make('ul');
  if (element instanceof HTMLOListElement && typeof token.start === 'number' && token.start !== 1) element.start = token.start;
  for (const item of token.items) {
    const entry = make('li');
    if (item.task) {
      const box = make('input');
      box.type = 'checkbox';
      box.checked = item.checked === true;
      box.disabled = true;
      box.setAttribute('aria-label', item.checked ? 'done' : 'to do');
      entry.className = 'task';
      entry.append(box, ' ');
    }
    blocks(entry, item.tokens.filter((inner) => inner.type !== 'checkbox'), context, depth + 1);
    element.append(entry);
  }
  return element;
}

function table(token: Tokens.Table, context: MarkdownContext, depth: number): HTMLElement {
  const frame = make('div', 'table-frame');
  const element = make('table');
  const head = element.createTHead().insertRow();
  for (const cell of token.header) head.append(filled(make('th', align(cell.align)), cell, context, depth));
  const body = element.createTBody();
  for (const row of token.rows) {
    const line = body.insertRow();
    for (const cell of row) line.append(filled(make('td', align(cell.align)), cell, context, depth));
  }
  frame.append(element);
  frame.tabIndex = 0;
  frame.setAttribute('role', 'region');
  frame.setAttribute('aria-label', 'Table');
  return frame;
}

const align = (side: string | null): string => (side ? `align-${side}` : '');

/** A block of code with its language and a button that copies it. Highlighting follows when its part of the page is loaded. */
export function codeBlock(text: string, lang?: string): HTMLElement {
  const language = /^[\w+#.-]+/.exec(lang ?? '')?.[0] ?? '';
  const frame = make('div', 'code');
  const bar = make('div', 'code-bar');
  const name = make('span');
  name.textContent = language;
  const copy = make('button');
  copy.type = 'button';
  copy.textContent = 'Copy';
  copy.dataset.copy = '';
  bar.append(name, copy);
  const pre = make('pre');
  const code = make('code');
  code.textContent = text;
  if (language) code.dataset.lang = language.toLowerCase();
  pre.append(code);
  pre.tabIndex = 0;
  pre.setAttribute('role', 'region');
  pre.setAttribute('aria-label', language ? `Code, ${language}` : 'Code');
  frame.append(bar, pre);
  return frame;
}

function inlines(parent: Node, tokens: Token[], context: MarkdownContext, depth: number): void {
  for (const token of tokens) inline(parent, token, context, depth);
}

const plainTags: Record<string, 'strong' | 'em' | 'del'> = { strong: 'strong', em: 'em', del: 'del' };

function inline(parent: Node, token: Token, context: MarkdownContext, depth: number): void {
  const inner = (token as { tokens?: Token[] }).tokens;
  if (depth > MAX_DEPTH) {
    parent.appendChild(document.createTextNode(token.raw));
    return;
  }
  const tag = plainTags[token.type];
  if (tag) {
    parent.appendChild(filled(make(tag), { tokens: inner }, context, depth));
    return;
  }
  switch (token.type) {
    case 'codespan': {
      const code = make('code');
      code.textContent = (token as Tokens.Codespan).text;
      parent.appendChild(code);
      return;
    }
    case 'br':
      parent.appendChild(make('br'));
      return;
    case 'link':
      parent.appendChild(link(token as Tokens.Link, depth));
      return;
    case 'image': {
      // Pictures from elsewhere would tell somebody else who reads here: a link does not.
      const image = token as Tokens.Image;
      parent.appendChild(link({ ...image, type: 'link', tokens: [{ type: 'text', raw: image.text, text: image.text }] } as Tokens.Link, depth));
      return;
    }
    case 'escape':
      parent.appendChild(document.createTextNode((token as Tokens.Escape).text));
      return;
    case 'text':
      if (inner) inlines(parent, inner, context, depth + 1);
      else words(parent, decode(token.raw), context);
      return;
    default:
      words(parent, token.raw, context);
  }
}

/** Only addresses that lead to a page or a mailbox; everything else stays text. */
export function safeHref(href: string): string | null {
  const trimmed = href.trim();
  if (/[\u0000-\u001f\u007f]/.test(trimmed)) return null;
  if (/^(https?:\/\/|mailto:)/i.test(trimmed)) return trimmed;
  if (/^\/(?![/\\])/.test(trimmed)) return trimmed;
  return null;
}

function link(token: Tokens.Link, depth: number): Node {
  const href = safeHref(token.href);
  if (!href) {
    const text = make('span');
    words(text, token.raw, {});
    return text;
  }
  const anchor = make('a');
  anchor.href = href;
  if (anchor.origin !== location.origin) {
    anchor.target = '_blank';
    anchor.rel = 'noopener noreferrer nofollow';
  }
  inlines(anchor, token.tokens.length ? token.tokens : [{ type: 'text', raw: href, text: href } as Token], {}, depth + 1);
  if (token.title) anchor.title = token.title;
  return anchor;
}

const NAMED = /(^|[^\p{L}\p{N}_@#/&])([@#])([\p{L}\p{N}][\p{L}\p{N}._-]{0,63})/gu;

/** Text in which names of members and channels become links. */
function words(parent: Node, text: string, context: MarkdownContext): void {
  let from = 0;
  if (context.member || context.channel) {
    for (const found of text.matchAll(NAMED)) {
      const at = found.index + found[1]!.length;
      const name = found[3]!;
      const node = found[2] === '@' ? mention(name, context) : reference(name, context);
      if (!node) continue;
      if (at > from) parent.appendChild(document.createTextNode(text.slice(from, at)));
      parent.appendChild(node.element);
      from = at + 1 + node.length;
    }
  }
  if (from < text.length) parent.appendChild(document.createTextNode(text.slice(from)));
}

function mention(name: string, context: MarkdownContext): { element: Node; length: number } | null {
  // A full stop at the end belongs to the sentence.
  for (const candidate of [name, name.replace(/[._-]+$/, '')]) {
    const member = context.member?.(candidate);
    if (!member) continue;
    const anchor = make('a', member.me ? 'mention me' : 'mention');
    anchor.href = `?profile=${encodeURIComponent(member.id)}`;
    anchor.dataset.profile = member.id;
    anchor.textContent = `@${candidate}`;
    return { element: anchor, length: candidate.length };
  }
  return null;
}

function reference(name: string, context: MarkdownContext): { element: Node; length: number } | null {
  for (const candidate of [name, name.replace(/[._-]+$/, '')]) {
    const channel = context.channel?.(candidate);
    if (!channel) continue;
    const anchor = make('a', 'mention');
    anchor.href = `/c/${encodeURIComponent(channel.id)}`;
    anchor.textContent = `#${candidate}`;
    return { element: anchor, length: candidate.length };
  }
  return null;
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', hellip: '…', mdash: '—', ndash: '–', copy: '©' };

export function decode(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (name[0] !== '#') return ENTITIES[name] ?? whole;
    const code = name[1] === 'x' || name[1] === 'X' ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}
