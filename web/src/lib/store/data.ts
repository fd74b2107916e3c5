/** What the page knows, as plain data. Things are replaced when they change, never changed in place, so that a view that kept one can tell. */
import type { Action, Approval, Channel, Delivery, Member, Message, Notification, Pin, Run, Task, Workspace } from '../types';
import { Timeline } from './timeline';

export interface Typist {
  member: string;
  name: string;
  /** When it is forgotten unless told again. */
  until: number;
}

export class Data {
  me = '';
  workspace: Workspace | null = null;
  readonly members = new Map<string, Member>();
  readonly channels = new Map<string, Channel>();
  /** Per channel: how far its events were applied. */
  readonly positions = new Map<string, number>();
  readonly timelines = new Map<string, Timeline>();
  /** Per channel: message → pin. */
  readonly pins = new Map<string, Map<string, Pin>>();
  readonly approvals = new Map<string, Approval>();
  readonly notifications = new Map<string, Notification>();
  readonly tasks = new Map<string, Task>();
  readonly runs = new Map<string, Run>();
  /** Per run, by `seq`. */
  readonly actions = new Map<string, Action[]>();
  readonly deliveries = new Map<string, Delivery>();
  /** Per channel, by member. */
  readonly typing = new Map<string, Map<string, Typist>>();
  /** Agents that said they think, per channel. */
  readonly thinking = new Map<string, Map<string, number>>();

  timeline(channel: string): Timeline {
    let timeline = this.timelines.get(channel);
    if (!timeline) this.timelines.set(channel, (timeline = new Timeline()));
    return timeline;
  }

  message(channel: string, id: string): Message | undefined {
    return this.timelines.get(channel)?.messages.get(id);
  }

  nameOf(member: string): string {
    return this.members.get(member)?.name ?? 'somebody';
  }
}
