/** Colours for code. Loaded when the first block of code is shown, and only then. */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import lua from 'highlight.js/lib/languages/lua';
import makefile from 'highlight.js/lib/languages/makefile';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const languages = { bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, lua, makefile, markdown, python, ruby, rust, sql, swift, typescript, xml, yaml };
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
hljs.registerAliases(['sh', 'shell', 'console', 'zsh'], { languageName: 'bash' });
hljs.registerAliases(['svelte', 'vue', 'html'], { languageName: 'xml' });

const LONGEST = 20_000;

interface Scope {
  scope?: string;
  children: (Scope | string)[];
}

/** Replaces the text of a block by the same text in coloured spans. */
export function highlight(code: HTMLElement): void {
  const lang = code.dataset.lang ?? '';
  const text = code.textContent ?? '';
  if (!lang || code.dataset.done || text.length > LONGEST || !hljs.getLanguage(lang)) return;
  code.dataset.done = '1';
  const result = hljs.highlight(text, { language: lang, ignoreIllegals: true });
  const root = (result as unknown as { _emitter?: { rootNode?: Scope; root?: Scope } })._emitter;
  const tree = root?.rootNode ?? root?.root;
  if (!tree) return;
  const fragment = document.createDocumentFragment();
  build(fragment, tree);
  if (fragment.textContent === text) code.replaceChildren(fragment);
}

function build(parent: Node, node: Scope): void {
  for (const child of node.children) {
    if (typeof child === 'string') parent.appendChild(document.createTextNode(child));
    else {
      const span = document.createElement('span');
      if (child.scope) span.className = `hl-${child.scope.split('.')[0]}`;
      build(span, child);
      parent.appendChild(span);
    }
  }
}
