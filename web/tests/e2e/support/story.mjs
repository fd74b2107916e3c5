// A file of tests is a story: each step builds on those before it, so after one has failed the others say so at once.
import { test } from 'node:test';

let failed = '';

/** One step, named after what somebody tries. */
export function step(name, run) {
  test(name, async () => {
    if (failed) throw new Error(`not tried, because this failed before: ${failed}`);
    try {
      await run();
    } catch (error) {
      failed = name;
      throw error;
    }
  });
}

/** Nothing is left running, also when the browser has something to complain about. */
export async function close(browser, ...hubs) {
  try {
    await browser?.end();
  } finally {
    for (const hub of hubs) await hub?.end();
  }
}
