/** A text that grows where everybody sees it, and becomes the answer to a wake. */
import { StreamStopped } from './errors.js';
import type { Link } from './link.js';

/** How often the growing text is shown; more often nobody can read. */
const SHOW_EVERY_MS = 250;
const MAX_SHOWN_CHARS = 10_000;

export class Stream {
  private text = '';
  private timer: ReturnType<typeof setTimeout> | undefined;
  private state: 'open' | 'stopped' | 'ended' = 'open';

  constructor(
    private readonly link: Link,
    /** The run that the hub shows. */
    readonly runId: string,
  ) {}

  /** Adds to the text. Fails when people have stopped it. */
  write(more: string): void {
    if (this.state === 'stopped') throw new StreamStopped();
    if (this.state === 'ended') throw new Error('this answer has ended');
    this.text += more;
    this.timer ??= setTimeout(() => this.show(), SHOW_EVERY_MS);
  }

  /** The text is the answer now; with `text` that is. */
  async end(text: string = this.text): Promise<void> {
    await this.complete({ state: 'completed', answer: text });
  }

  /** Somebody wants it to end. */
  stop(): void {
    if (this.state === 'open') this.state = 'stopped';
  }

  get stopped(): boolean {
    return this.state === 'stopped';
  }

  /** How it ends when its handler did not end it: visibly. */
  async settle(error: unknown): Promise<void> {
    if (this.state === 'ended') return;
    const answer = this.text === '' ? {} : { answer: this.text };
    if (this.state === 'stopped') await this.complete({ state: 'cancelled', ...answer });
    else if (error !== undefined) await this.complete({ state: 'failed', error: String(error), ...answer });
    else await this.end();
  }

  private show(): void {
    this.timer = undefined;
    if (this.state === 'open') this.link.tell('run.progress', { run_id: this.runId, text: this.text.slice(0, MAX_SHOWN_CHARS) });
  }

  private async complete(how: object): Promise<void> {
    if (this.state === 'ended') return;
    this.state = 'ended';
    clearTimeout(this.timer);
    await this.link.request('run.complete', { run_id: this.runId, ...how });
  }
}
