/** Requests over HTTP: what may be repeated is, while the hub is away or asks for patience. */
import { pauseMs, spreadMs } from './backoff.js';
import type { End } from './end.js';
import { Refused, Stopped } from './errors.js';
import type { Outside } from './outside.js';

export interface RestOptions {
  /** `http://…` without a path. */
  base: string;
  key: string;
  firstPauseMs: number;
  outside: Outside;
  end: End;
  log(sentence: string): void;
}

interface Call {
  json?: unknown;
  form?: FormData;
  /** Whether doing it twice does no more than doing it once. */
  once?: boolean;
}

export class Rest {
  constructor(private readonly options: RestOptions) {}

  async json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    return (await (await this.call(method, path, call)).json()) as T;
  }

  async call(method: string, path: string, call: Call = {}): Promise<Response> {
    for (let attempt = 0; ; attempt += 1) {
      if (this.options.end.reached) throw new Stopped('the agent was stopped');
      const answer = await this.attempt(method, path, call);
      if (answer instanceof Response && answer.ok) return answer;
      const { why, pause } = answer instanceof Response ? await refusal(answer) : { why: answer.message, pause: undefined };
      this.options.log(`${method} ${path}: ${why} (the agent waits and asks again)`);
      await this.options.end.sleep(pause === undefined ? this.pause(attempt) : spreadMs(pause, this.options.outside.chance()));
    }
  }

  /** An answer, or an error that may pass; any other is thrown. */
  private async attempt(method: string, path: string, { json, form, once = true }: Call): Promise<Response | Error> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.options.key}` };
    if (json !== undefined) headers['content-type'] = 'application/json';
    const body = form ?? (json === undefined ? undefined : JSON.stringify(json));
    try {
      return await this.options.outside.fetch(this.options.base + path, { method, headers, ...(body === undefined ? {} : { body }) });
    } catch (error) {
      if (once || neverArrived(error)) return error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }

  private pause(attempt: number): number {
    return pauseMs(attempt, this.options.outside.chance(), this.options.firstPauseMs);
  }
}

/** What the hub says, and how long it asks to wait; thrown where waiting does not help. */
async function refusal(answer: Response): Promise<{ why: string; pause: number | undefined }> {
  const said = (await answer.json().catch(() => ({}))) as { message?: string; error?: string; code?: string };
  const why = said.message ?? said.error ?? `the hub answered ${answer.status}`;
  if (answer.status !== 429 && answer.status !== 503) throw new Refused(why, said.code ?? `HTTP_${answer.status}`);
  const seconds = Number(answer.headers.get('retry-after') ?? NaN);
  return { why, pause: Number.isFinite(seconds) ? seconds * 1_000 : undefined };
}

/** Whether nobody was there to hear the request. */
function neverArrived(error: unknown): boolean {
  const code = (error as { cause?: { code?: string } }).cause?.code;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND';
}
