/** Short notes at the edge of the page: what happened, or why it did not. */
import { untrack } from 'svelte';
import { ApiError } from './api';

export interface Toast {
  id: number;
  text: string;
  kind: 'info' | 'error';
  action?: { label: string; run(): void };
}

class Toasts {
  list = $state<Toast[]>([]);
  private next = 1;

  show(text: string, options: Partial<Omit<Toast, 'id' | 'text'>> & { ms?: number } = {}): number {
    const toast: Toast = { id: this.next++, text, kind: options.kind ?? 'info', action: options.action };
    // Also an effect may say something, without depending on what was said.
    this.list = [...untrack(() => this.list).slice(-3), toast];
    setTimeout(() => this.dismiss(toast.id), options.ms ?? (toast.kind === 'error' ? 8000 : 4000));
    return toast.id;
  }

  dismiss(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
export const toast = (text: string, options?: Parameters<Toasts['show']>[1]) => toasts.show(text, options);

/** For `catch`: one sentence, with the request's id when the hub itself failed. */
export function complain(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return;
  const text = error instanceof Error ? error.message : String(error);
  const id = error instanceof ApiError && error.status >= 500 && error.requestId ? ` (${error.requestId})` : '';
  toasts.show(text + id, { kind: 'error' });
}
