/** Longer than a frame takes anywhere; a tab behind others gets none. */
const NO_FRAME_MS = 200;

/** Runs something once what was changed is on the screen, so that it does not stand in the way of it. */
export function afterPaint(run: () => void): void {
  let done = false;
  const once = () => {
    if (done) return;
    done = true;
    run();
  };
  setTimeout(once, NO_FRAME_MS);
  // A frame is painted after its callbacks: what they put off comes after that.
  if (!document.hidden) requestAnimationFrame(() => setTimeout(once));
}

/** Longer than anybody should wait for what nobody waits for. */
const LATEST_MS = 2000;

/** Runs something when the page has nothing else to do. */
export function whenIdle(run: () => void): void {
  // Safari has no such callback.
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run, { timeout: LATEST_MS });
  else setTimeout(run, NO_FRAME_MS);
}
