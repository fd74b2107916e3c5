/** Puts a popover beside its button, inside the window. */
export function floatBeside(box: HTMLElement, anchor: Element, gap = 4): void {
  const at = anchor.getBoundingClientRect();
  const size = box.getBoundingClientRect();
  const below = at.bottom + gap + size.height <= innerHeight || at.top < size.height + gap;
  const top = below ? Math.min(at.bottom + gap, innerHeight - size.height - 4) : at.top - gap - size.height;
  const left = Math.min(Math.max(4, at.right - size.width), innerWidth - size.width - 4);
  box.style.top = `${Math.max(4, top)}px`;
  box.style.left = `${Math.max(4, left)}px`;
}
