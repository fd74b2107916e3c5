/** Where one is: the address of the browser, without hashes. Panels beside the main view are part of the query. */

class Place {
  path = $state(location.pathname);
  query = $state(new URLSearchParams(location.search));

  read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }
}

export const place = new Place();
addEventListener('popstate', () => place.read());

export function go(target: string, options: { replace?: boolean } = {}): void {
  const now = location.pathname + location.search;
  if (target === now) return;
  if (options.replace) history.replaceState(null, '', target);
  else history.pushState(null, '', target);
  place.read();
}

/** Opens or closes what stands beside the main view; `null` closes. */
export function panel(name: 'thread' | 'run' | 'profile' | 'pins' | 'files', value: string | null): void {
  const query = new URLSearchParams(value === null ? place.query : '');
  if (value === null) query.delete(name);
  else query.set(name, value);
  const text = query.toString();
  go(place.path + (text ? `?${text}` : ''));
}

export function closePanels(): void {
  go(place.path);
}

/** Matches `/c/:channel/m/:message`; a trailing `?` makes the part optional. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/').filter(Boolean);
  const given = path.split('/').filter(Boolean);
  const found: Record<string, string> = {};
  if (given.length > wanted.length) return null;
  for (const [at, part] of wanted.entries()) {
    const value = given[at];
    if (part.startsWith(':')) {
      const name = part.slice(1).replace(/\?$/, '');
      if (value === undefined) {
        if (part.endsWith('?')) continue;
        return null;
      }
      try {
        found[name] = decodeURIComponent(value);
      } catch {
        return null;
      }
    } else if (part !== value) return null;
  }
  return found;
}

/** For `<a href>`: plain clicks stay in the page, everything else (new tab, new window) is the browser's. */
export function onLinkClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a[href]') as HTMLAnchorElement | null;
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (/^\/(v1|ws|docs|openapi\.json|drive\.bin)(\/|$)/.test(link.pathname)) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
