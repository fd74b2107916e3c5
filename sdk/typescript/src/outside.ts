/** What the kit takes from where it runs: sockets, requests, chance. Each can be given instead. */

/** As much of a WebSocket as the kit uses. */
export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code?: number; reason?: string }) => void) | null;
  onerror: (() => void) | null;
}

export interface Outside {
  open(url: string): Socket | Promise<Socket>;
  fetch: typeof fetch;
  /** From 0 to 1. */
  chance(): number;
}

export const here: Outside = {
  open: async (url) => new (await webSocket())(url) as unknown as Socket,
  fetch: (input, init) => fetch(input, init),
  chance: Math.random,
};

/** The one that is there; Node.js before 22 has none and takes `ws`. */
async function webSocket(): Promise<new (url: string) => unknown> {
  if (typeof WebSocket !== 'undefined') return WebSocket;
  return (await import('ws')).WebSocket;
}

/** A name that no other request has; also on pages without TLS, where browsers lack `randomUUID`. */
export function uuid(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 15) | 64;
  bytes[8] = (bytes[8]! & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
