/** What the browser keeps for this page. A browser that keeps nothing (private window, full disk) is no error. */

export function keep(key: string, value: unknown): void {
  try {
    if (value === null || value === undefined) localStorage.removeItem(`folkmoot.${key}`);
    else localStorage.setItem(`folkmoot.${key}`, JSON.stringify(value));
  } catch {
    // Nothing to do: the page works without.
  }
}

export function kept<T>(key: string): T | null {
  try {
    const text = localStorage.getItem(`folkmoot.${key}`);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}
