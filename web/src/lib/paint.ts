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
