/** The document asks for the second file of the page while the first one runs, without getting in its way. */
import type { Plugin } from 'vite';

export const preloadParts = (): Plugin => ({
  name: 'preload-parts',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(_, { bundle }) {
      const parts = Object.values(bundle ?? {}).find((it) => it.type === 'chunk' && it.name === 'parts');
      if (!parts) throw new Error('there is no file called parts; see codeSplitting in vite.config.ts');
      return [{ tag: 'link', injectTo: 'head', attrs: { rel: 'modulepreload', crossorigin: true, href: `/${parts.fileName}`, fetchpriority: 'low' } }];
    },
  },
});
