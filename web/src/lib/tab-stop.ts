/**
 * A list of messages is one stop of the Tab key: Tab comes to the selected message and leaves the list again, Enter goes into a message,
 * Tab then stays among what is in it, and Escape comes back to it.
 */

const TABBABLE = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex]:not([tabindex="-1"])';

const isSeen = (element: HTMLElement): boolean => element.tabIndex >= 0 && element.getClientRects().length > 0 && !element.closest('[inert]');

export const tabbableIn = (element: ParentNode): HTMLElement[] => [...element.querySelectorAll<HTMLElement>(TABBABLE)].filter(isSeen);

/** The neighbour of a list in the order of the Tab key. */
function beside(list: HTMLElement, back: boolean): HTMLElement | undefined {
  const wanted = back ? Node.DOCUMENT_POSITION_PRECEDING : Node.DOCUMENT_POSITION_FOLLOWING;
  const others = tabbableIn(document).filter((it) => !list.contains(it) && list.compareDocumentPosition(it) & wanted);
  return back ? others.at(-1) : others[0];
}

/** For `{@attach}`; `current` is the row that has the stop. */
export function oneTabStop(list: HTMLElement, current: () => HTMLElement | null | undefined): () => void {
  let tabbed = false;

  function onKey(event: KeyboardEvent): void {
    tabbed = event.key === 'Tab';
    const row = tabbed && !event.defaultPrevented && list.contains(event.target as Node) ? (event.target as HTMLElement).closest<HTMLElement>('article[data-id]') : null;
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = event.target === row ? beside(list, event.shiftKey) : within(row, event.target as HTMLElement, event.shiftKey);
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  function within(row: HTMLElement, from: HTMLElement, back: boolean): HTMLElement {
    const all = tabbableIn(row).filter((it) => it !== row);
    return all[(all.indexOf(from) + (back ? -1 : 1) + all.length) % all.length] ?? row;
  }

  function onFocus(event: FocusEvent): void {
    const target = event.target as HTMLElement;
    const isInside = event.relatedTarget instanceof Node && list.contains(event.relatedTarget);
    if (!tabbed || isInside || target.matches('article[data-id]')) return;
    tabbed = false;
    current()?.focus({ preventScroll: true });
  }

  const onPointer = () => (tabbed = false);
  addEventListener('keydown', onKey, true);
  addEventListener('pointerdown', onPointer, true);
  list.addEventListener('focusin', onFocus);
  return () => {
    removeEventListener('keydown', onKey, true);
    removeEventListener('pointerdown', onPointer, true);
    list.removeEventListener('focusin', onFocus);
  };
}

/** Arrow keys, Home and End between the links of a list that has one stop of the Tab key. */
export function onArrows(event: KeyboardEvent, selector: string): void {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(selector)].filter((it) => it.getClientRects().length);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
  const next = at < 0 ? undefined : all[to[event.key] ?? -1];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
