/** What is not needed to begin with: the components in `components/parts.ts`, which come once the page can be used. */
import { afterPaint } from './paint';

type All = typeof import('../components/parts');

class Parts {
  /** Null until they are there. */
  all = $state.raw<All | null>(null);
  problem = $state(false);

  /** Call once, when the page is shown. */
  load(): void {
    afterPaint(() => {
      import('../components/parts').then(
        (all) => (this.all = all),
        () => (this.problem = true),
      );
    });
  }
}

export const parts = new Parts();
