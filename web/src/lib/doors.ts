/** The ways into the hub, as `/readyz` and this page's own address tell them. */

export interface Door {
  name: string;
  address: string;
  status: string;
  error: string;
  /** A line for a terminal that shows whether it answers. */
  test: string;
}

interface Ready {
  status: string;
  version: string;
  doors: { door: string; path?: string; address?: string; status: string; error?: string }[];
}

export async function ready(): Promise<{ version: string; doors: Door[] }> {
  const response = await fetch('/readyz');
  const told = (await response.json()) as Ready;
  return { version: told.version ?? '', doors: told.doors.map((it) => door(it, location.origin)) };
}

export function door(told: Ready['doors'][number], origin: string): Door {
  const socket = origin.replace(/^http/, 'ws');
  const address = told.path ? socket + told.path : told.address ? `ws://${told.address}` : '';
  const http = address.replace(/^ws/, 'http');
  return {
    name: told.door,
    address,
    status: told.status,
    error: told.error ?? '',
    test: address ? `curl -si -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGVzdGluZyB0aGUgZG9vcg==' -m 1 ${http} | head -1` : '',
  };
}
