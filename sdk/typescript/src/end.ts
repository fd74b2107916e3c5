/** That the agent is to stop, told to everything that waits. */
export class End {
  private readonly waiting = new Set<() => void>();
  private over = false;

  get reached(): boolean {
    return this.over;
  }

  /** Runs this at the end, once; what is returned takes it back. */
  on(run: () => void): () => void {
    if (this.over) queueMicrotask(run);
    else this.waiting.add(run);
    return () => void this.waiting.delete(run);
  }

  reach(): void {
    this.over = true;
    for (const run of [...this.waiting]) run();
    this.waiting.clear();
  }

  /** Pauses, but not beyond the end. */
  sleep(ms: number): Promise<void> {
    return new Promise((done) => {
      const takeBack = this.on(() => (clearTimeout(timer), done()));
      const timer = setTimeout(() => (takeBack(), done()), this.over ? 0 : ms);
    });
  }
}
