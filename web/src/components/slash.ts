/** Commands at the beginning of a message. Those of agents (`/new`, `/model`, …) are listed here and sent like any text. */
import * as api from '../lib/api';
import { hub } from '../lib/hub.svelte';
import { go } from '../lib/router.svelte';
import { complain, toast } from '../lib/toasts.svelte';

interface Slash {
  name: string;
  takes: string;
  does: string;
  /** Without it the text goes to the channel. */
  run?(rest: string, channel: string): Promise<void>;
}

const memberNamed = (name: string) => {
  const wanted = name.replace(/^@/, '').toLowerCase();
  const found = [...hub.data.members.values()].find((it) => it.name.toLowerCase() === wanted);
  if (!found) throw new Error(`There is nobody called ${name}.`);
  return found;
};

export const slashCommands: Slash[] = [
  {
    name: 'task',
    takes: 'what is to be done',
    does: 'Create a task in this channel',
    run: async (rest, channel) => {
      if (!rest) throw new Error('Say what is to be done: /task Water the plants');
      await api.tasks.create(hub.ws, { title: rest.slice(0, 200), channel_id: channel });
      toast('Task created');
    },
  },
  { name: 'dm', takes: '@name', does: 'Open a direct message', run: async (rest) => go(`/c/${(await hub.direct(memberNamed(rest).id)).id}`) },
  {
    name: 'invite',
    takes: '@name',
    does: 'Bring somebody into this channel',
    run: async (rest, channel) => hub.putChannel(await api.channels.admit(hub.ws, channel, memberNamed(rest).id)),
  },
  { name: 'topic', takes: 'text', does: 'Set the topic of this channel', run: async (rest, channel) => hub.putChannel(await api.channels.change(hub.ws, channel, { topic: rest })) },
  { name: 'search', takes: 'words', does: 'Search messages', run: async (rest) => go(`/search?q=${encodeURIComponent(rest)}`) },
  { name: 'new', takes: '', does: 'For an agent in its thread: begin a new session' },
  { name: 'model', takes: 'name', does: 'For an agent in its thread: use another model' },
  { name: 'engine', takes: 'name', does: 'For an agent in its thread: use another engine' },
];

/** True when the command was one of the page's own, done or refused. */
export async function runSlash(text: string, channel: string): Promise<boolean> {
  const found = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(text);
  const command = slashCommands.find((it) => it.name === found?.[1]);
  if (!command?.run) return false;
  try {
    await command.run(found?.[2]?.trim() ?? '', channel);
  } catch (error) {
    complain(error);
  }
  return true;
}
