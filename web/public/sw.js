// Keeps the page's own files for a quick start and for the moment without a network. What the hub says (/v1, /ws and the like)
// never passes through here.
const STORE = 'folkmoot-page-1';
const isAsset = (url) => url.pathname.startsWith('/assets/') || url.pathname === '/icon.svg';

self.addEventListener('install', () => self.skipWaiting());

self.addEventListener('activate', (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== STORE).map((name) => caches.delete(name))));
  event.waitUntil(Promise.all([old, self.clients.claim()]));
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== location.origin) return;
  if (isAsset(url)) event.respondWith(keptFirst(request));
  else if (request.mode === 'navigate' && !/^\/(v1|docs|listen|openapi\.json|metrics|health|readyz)/.test(url.pathname)) event.respondWith(hubFirst(request));
});

// Names with a hash never change their content.
async function keptFirst(request) {
  const store = await caches.open(STORE);
  const kept = await store.match(request);
  if (kept) return kept;
  const fresh = await fetch(request);
  if (fresh.ok) void store.put(request, fresh.clone());
  return fresh;
}

// The document is asked for every time; the last one is better than the browser's own error page.
async function hubFirst(request) {
  const store = await caches.open(STORE);
  try {
    const fresh = await fetch(request);
    if (fresh.ok && fresh.headers.get('content-type')?.startsWith('text/html')) {
      void store.put('/', fresh.clone());
      void dropOld(store, await fresh.clone().text());
    }
    return fresh;
  } catch (error) {
    const kept = await store.match('/');
    if (kept) return kept;
    throw error;
  }
}

// A new page names new files: when its main script is not among the kept ones, the kept ones are of an older page.
async function dropOld(store, html) {
  const main = /\/assets\/index-[^"]+\.js/.exec(html)?.[0];
  if (!main || (await store.match(main))) return;
  for (const request of await store.keys()) if (new URL(request.url).pathname.startsWith('/assets/')) await store.delete(request);
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const target = event.notification.data?.target ?? '/needs-you';
  event.waitUntil(
    self.clients.matchAll({ type: 'window' }).then(async (windows) => {
      const open = windows[0];
      if (!open) return self.clients.openWindow(target);
      await open.focus();
      open.postMessage({ go: target });
    }),
  );
});
