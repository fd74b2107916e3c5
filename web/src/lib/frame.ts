/** What travels over the socket: the envelope of Lark, and a message while it is still being written. */
import type { Message } from './types';

export type Json = Record<string, unknown>;

export interface Frame<T = Json> {
  v?: number;
  id?: string | null;
  type: string;
  ts?: number;
  reply_to?: string | null;
  data: T;
}

/** A text that still grows has no position, and the final message follows under another id. */
export type LiveMessage = Message & { partial?: boolean; final_id?: string };
