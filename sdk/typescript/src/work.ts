/** Tasks and files of the workspace. */
import type { File, Member, Task, TaskChange, TaskStatus } from './objects.js';
import type { Rest } from './rest.js';

/** Who the agent is, asked for once. */
export type Me = () => Promise<Member>;

export class Tasks {
  constructor(
    private readonly rest: Rest,
    private readonly me: Me,
  ) {}

  /** The agent's own tasks, the newest first; with `all` everybody's that it may see. */
  async list({ status, all = false }: { status?: TaskStatus; all?: boolean } = {}): Promise<Task[]> {
    const me = await this.me();
    const query = new URLSearchParams({ ...(status ? { status } : {}), ...(all ? {} : { assigned_to: me.id }) });
    return this.rest.json('GET', `/v1/workspaces/${me.workspace_id}/tasks?${query}`);
  }

  /** Takes a task that nobody has; of many who try, one gets it and the others are refused with `CONFLICT`. */
  claim(id: string): Promise<Task> {
    return this.rest.json('POST', `/v1/tasks/${id}/claim`);
  }

  /** Changes what is given. */
  update(id: string, change: TaskChange): Promise<Task> {
    return this.rest.json('PATCH', `/v1/tasks/${id}`, { json: change });
  }

  done(id: string): Promise<Task> {
    return this.update(id, { status: 'done' });
  }
}

export class Files {
  constructor(
    private readonly rest: Rest,
    private readonly me: Me,
  ) {}

  /**
   * Uploads a file of at most 32 MB; post it with `reply(…, { file })`. With `channel` its readers may read it at once.
   * When the connection breaks on the way it fails: the hub may have it, and a second try would store it twice.
   */
  async upload(name: string, data: Blob | Uint8Array | string, { channel }: { channel?: string } = {}): Promise<File> {
    const form = new FormData();
    if (channel) form.set('channel_id', channel);
    form.set('file', data instanceof Blob ? data : new Blob([data as BlobPart]), name);
    const { workspace_id } = await this.me();
    return this.rest.json('POST', `/v1/workspaces/${workspace_id}/files`, { form, once: false });
  }

  async download(id: string): Promise<Uint8Array> {
    return new Uint8Array(await (await this.rest.call('GET', `/v1/files/${id}/download`)).arrayBuffer());
  }
}
