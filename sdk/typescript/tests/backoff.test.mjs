// How long the kit waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedPauseMs, pauseMs, spreadMs } from '../dist/backoff.js';

test('pauses double up to half a minute, and chance moves them by a quarter', () => {
  assert.deepEqual([0, 1, 2, 5, 99].map((attempt) => pauseMs(attempt, 0.5)), [1_000, 2_000, 4_000, 30_000, 30_000]);
  assert.deepEqual([pauseMs(0, 0), pauseMs(0, 1)], [750, 1_250]);
});

test('how long the hub asks to wait is in its sentence, and the agent waits no less', () => {
  assert.equal(askedPauseMs('too many messages; retry in 3 s'), 3_000);
  assert.equal(askedPauseMs('the disk is full'), undefined);
  assert.deepEqual([spreadMs(1_000, 0), spreadMs(1_000, 1)], [1_000, 1_250]);
});
