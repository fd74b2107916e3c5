/** What is not needed to begin with: the components in `components/parts.ts`, which come once the page can be used. */
import { afterPaint, whenIdle } from './paint';

type All = typeof import('../components/parts');

class Parts {
  /** Null until they are there. */
  all = $state.raw<All | null>(null);
  /** They are there and shown: time for what comes up now and then. */
  settled = $state(false);
  problem = $state(false);

  /** Call once, when the page is shown. */
  load(): void {
    afterPaint(() => {
      import('../components/parts').then(
        (all) => {
          this.all = all;
          whenIdle(() => (this.settled = true));
        },
        () => (this.problem = true),
      );
    });
  }
}

export const parts = new Parts();
