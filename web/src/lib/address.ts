/** Where a message is: in its channel, or beside it in its thread. Pure. */
import type { Message } from './types';

type Placed = Pick<Message, 'id' | 'channel_id'> & { thread_id?: string | null };

/** A reply is shown in its thread, and the thread beside the message it begins with. */
export function addressOfMessage(message: Placed): string {
  const channel = `/c/${message.channel_id}`;
  return message.thread_id ? `${channel}/${message.thread_id}?thread=${message.thread_id}&at=${message.id}` : `${channel}/${message.id}`;
}
