/** What can go wrong, each with one sentence for people. */

/** The hub's no to one request. The agent goes on. */
export class Refused extends Error {
  override readonly name = 'Refused';

  constructor(
    sentence: string,
    /** The hub's stable code, such as `NOT_FOUND` or `already_answered`. */
    readonly code: string,
    /** Whether the request had been sent before: then the first one may have been what it collided with. */
    readonly repeated = false,
  ) {
    super(sentence);
  }
}

/** The agent cannot go on: its key is refused. Trying again would not help. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
}

/** People stopped what the agent was writing. */
export class StreamStopped extends Error {
  override readonly name = 'StreamStopped';

  constructor() {
    super('somebody stopped this answer');
  }
}

/** Nobody said anything in time. */
export class WaitTimeout extends Error {
  override readonly name = 'WaitTimeout';
}
