import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/** Where the hub listens while `npm run dev` serves the page. */
const hub = process.env.FOLKMOOT_HUB ?? 'http://127.0.0.1:8484';

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: true,
    rolldownOptions: {
      // Many small files cost more round trips than they save: what every view leans on is one file, icons are one, what
      // several views share is one.
      output: {
        codeSplitting: {
          groups: [
            { name: 'lib', test: /node_modules\/(svelte|esm-env|clsx|marked)\/|src\/lib\/(?!highlight|socket-worker)|preload-helper|rolldown\/runtime/, priority: 3 },
            { name: 'icons', test: /@lucide/, priority: 2 },
            { name: 'shared', test: /src\/components\//, minShareCount: 2, priority: 1 },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: {
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
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
