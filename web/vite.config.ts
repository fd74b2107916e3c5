import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { plainIcons } from './build/icons.ts';
import { preloadParts } from './build/preload.ts';

/** Where the hub listens while `npm run dev` serves the page. */
const hub = process.env.FOLKMOOT_HUB ?? 'http://127.0.0.1:8484';

export default defineConfig({
  plugins: [plainIcons(), svelte(), preloadParts()],
  build: {
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: true,
    // One sheet for all views: it is small, and no view waits for its own.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // The first file holds what it takes to write a message, the second what it takes to read; the document asks for both.
          // What several of the other views share is one file: many small ones cost more round trips than they save.
          groups: [
            { name: 'page', tags: ['$initial'], priority: 3 },
            { name: 'parts', test: /src\/components\/parts\.ts/, priority: 2 },
            { name: 'shared', test: /src\/|@lucide/, minShareCount: 2, priority: 1 },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: {
    // The examples of the kits are next to the page.
    fs: { allow: ['..'] },
    proxy: {
      '/v1': hub,
      // The hub lets a page in that comes from its own address: the proxy says so.
      '/ws': {
        target: hub,
        ws: true,
        rewriteWsOrigin: true,
      },
    },
  },
  // As the hub serves it: what the policy forbids fails here as well.
  preview: {
    headers: {
      'content-security-policy':
        "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; worker-src 'self'; style-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    },
  },
  // Some tests go through thousands of texts: a busy machine takes its time, and that is no failure.
  test: { include: ['src/**/*.test.ts'], environment: 'node', testTimeout: 60_000 },
});
