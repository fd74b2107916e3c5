/** Files on their way to the hub, with how far they are. */
import * as api from '../lib/api';
import { hub } from '../lib/hub.svelte';
import type { StoredFile } from '../lib/types';
import { size } from '../lib/words';

export const MAX_BYTES = 32 * 1024 * 1024;

export interface Upload {
  id: number;
  name: string;
  size: number;
  share: number;
  error: string;
  file: StoredFile | null;
  source: File;
  stop: AbortController;
}

export class Uploads {
  list = $state.raw<Upload[]>([]);
  private next = 1;

  constructor(private readonly channel: string) {}

  get busy(): boolean {
    return this.list.some((it) => !it.file && !it.error);
  }

  get done(): StoredFile[] {
    return this.list.flatMap((it) => (it.file ? [it.file] : []));
  }

  add(files: File[]): void {
    for (const source of files) {
      const upload: Upload = { id: this.next++, name: source.name || 'file', size: source.size, share: 0, error: '', file: null, source, stop: new AbortController() };
      this.list = [...this.list, upload];
      if (source.size > MAX_BYTES) this.change(upload.id, { error: `${size(source.size)} is more than the ${size(MAX_BYTES)} a file may have.` });
      else void this.send(upload);
    }
  }

  retry(id: number): void {
    const upload = this.list.find((it) => it.id === id);
    if (!upload) return;
    this.change(id, { error: '', share: 0 });
    void this.send(upload);
  }

  drop(id: number): void {
    this.list.find((it) => it.id === id)?.stop.abort();
    this.list = this.list.filter((it) => it.id !== id);
  }

  clear(): void {
    this.list = [];
  }

  private async send(upload: Upload): Promise<void> {
    try {
      const file = await api.files.upload(hub.ws, upload.source, this.channel, (share) => this.change(upload.id, { share }), upload.stop.signal);
      this.change(upload.id, { file, share: 1 });
    } catch (error) {
      if ((error as Error).name !== 'AbortError') this.change(upload.id, { error: (error as Error).message });
    }
  }

  private change(id: number, fields: Partial<Upload>): void {
    this.list = this.list.map((it) => (it.id === id ? { ...it, ...fields } : it));
  }
}
