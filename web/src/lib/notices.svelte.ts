/** Notifications of the browser for what waits for somebody: asked for once, by their own hand, and never for mere talk. */
import { hub } from './hub.svelte';
import { go } from './router.svelte';
import { inOneLine } from './shown';
import { keep, kept } from './storage';
import type { Json } from './frame';
import type { Approval } from './types';

export type Wanted = 'unasked' | 'on' | 'off';

class Notices {
  wanted = $state<Wanted>(kept<Wanted>('notices') ?? 'unasked');

  get possible(): boolean {
    return typeof Notification === 'function';
  }

  async ask(): Promise<void> {
    const answer = await Notification.requestPermission();
    this.set(answer === 'granted' ? 'on' : 'off');
  }

  set(wanted: Wanted): void {
    this.wanted = wanted;
    keep('notices', wanted);
  }

  /** Tells what waits for this member while nobody looks at the page; returns how to stop. */
  listen(): () => void {
    const stops = [
      hub.on('approval.request', (data) => {
        if (data.status === 'pending') this.show(`${hub.data.nameOf(String(data.agent_id))} asks`, inOneLine(data as unknown as Approval), `/approval/${String(data.id)}`, String(data.id));
      }),
      hub.on('notification.new', (data) => this.notice(data)),
      hub.on('call.ring', (data) => this.show(`${String(data.caller_name)} calls`, 'Open the page to answer.', '/', String(data.call_id))),
    ];
    return () => stops.forEach((stop) => stop());
  }

  private notice(data: Json): void {
    const target = data.channel_id ? `/c/${String(data.channel_id)}${data.message_id ? `/${String(data.message_id)}` : ''}` : '/needs-you';
    this.show(String(data.title ?? 'Something waits for you'), String(data.body ?? ''), target, String(data.id));
  }

  private show(title: string, body: string, target: string, tag: string): void {
    if (this.wanted !== 'on' || !this.possible || Notification.permission !== 'granted') return;
    if (!document.hidden && document.hasFocus()) return;
    const options = { body: body.slice(0, 200), tag, icon: '/icon.svg', data: { target } };
    // One notification for all tabs: the same tag replaces. A worker's survives the tab.
    void navigator.serviceWorker?.getRegistration().then((worker) => {
      if (worker?.active) return worker.showNotification(title, options);
      const shown = new Notification(title, options);
      shown.onclick = () => {
        window.focus();
        go(target);
        shown.close();
      };
    });
  }
}

export const notices = new Notices();
