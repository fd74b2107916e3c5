import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/** Where the hub listens while `npm run dev` serves the page. */
const hub = process.env.FOLKMOOT_HUB ?? 'http://127.0.0.1:8484';

export default defineConfig({
  plugins: [svelte()],
  build: { target: 'es2022', cssTarget: ['chrome123', 'firefox120', 'safari17.5'], reportCompressedSize: true },
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
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
