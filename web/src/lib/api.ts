/** Everything the page asks of the hub over REST, one function per address. */
import type {
  Approval,
  BackupMade,
  Channel,
  ChannelChange,
  Count,
  Credentials,
  Daemon,
  Decision,
  Delivery,
  DeliveryState,
  Edit,
  Engine,
  EngineTest,
  Figures,
  HostBody,
  Hosted,
  Invitation,
  Invite,
  InviteBody,
  JoinBody,
  LoginBody,
  Machine,
  Member,
  MemberChange,
  Message,
  NewChannel,
  NewHosted,
  NewInvite,
  NewKey,
  NewMachine,
  NewMember,
  NewMemberBody,
  NewMessage,
  NewTask,
  Notification,
  NotifyPreference,
  PasswordChanged,
  Pin,
  PinnedMessage,
  Provider,
  ReadState,
  RegisterBody,
  Run,
  RunState,
  RunWithActions,
  Session,
  Setup,
  Status,
  StoredFile,
  Task,
  TaskChange,
  TelegramCode,
  TelegramLink,
  Thread,
  Usage,
  WakePreview,
  Workspace,
} from './types';

/** A refusal of the hub, or the lack of an answer (`status` 0). `message` is a sentence for people. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfter = 0,
    /** What to tell an operator: the request's id in the hub's log. */
    readonly requestId = '',
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** Whether the same request may succeed later by itself. A store that is full stays full. */
  get isPassing(): boolean {
    if (this.code === 'quota' || this.status === 507) return false;
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;

interface Options {
  body?: unknown;
  query?: Query;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

let token = '';
let onSessionEnded: () => void = () => {};

/** Who asks from now on; `ended` is called when the hub no longer knows the token. */
export function useToken(value: string, ended?: () => void): void {
  token = value;
  if (ended) onSessionEnded = ended;
}

export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return `/v1/${path}${text ? `?${text}` : ''}`;
}

const id = encodeURIComponent;

/** Where a 401 says that a password was wrong, not that the session ended. */
const ASKS_PASSWORD = /^(auth\/|members\/me\/password$)/;

/** A network that went away without a word never answers; sending again is harmless. */
const SEND_MS = 20_000;

declare global {
  interface Window {
    early?: Map<string, { token: string; answer: Promise<Response> }>;
  }
}

/** What `public/early.js` has asked for already, once and only for whom it was asked. */
function early(method: string, target: string): Promise<Response> | undefined {
  const known = method === 'GET' && typeof window !== 'undefined' ? window.early?.get(target) : undefined;
  if (!known) return undefined;
  window.early!.delete(target);
  return known.token === token ? known.answer : undefined;
}

async function raw(method: string, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { ...options.headers };
  if (token) headers.authorization = `Bearer ${token}`;
  let body: BodyInit | undefined;
  if (options.body instanceof FormData || typeof options.body === 'string') body = options.body;
  else if (options.body !== undefined) {
    body = JSON.stringify(options.body);
    headers['content-type'] = 'application/json';
  }
  const asked = token;
  let response: Response;
  try {
    const target = address(path, options.query);
    response = await (early(method, target) ?? fetch(target, { method, headers, body, signal: options.signal }));
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'OFFLINE', 'The hub cannot be reached.');
  }
  if (response.ok || response.status === 304) return response;
  const refusal = await refusalOf(response);
  if (response.status === 401 && asked && asked === token && !ASKS_PASSWORD.test(path)) onSessionEnded();
  throw refusal;
}

export async function refusalOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  const retryAfter = Number(response.headers.get('retry-after') ?? 0) || 0;
  const requestId = response.headers.get('x-request-id') ?? '';
  return refusalFrom(response.status, text, retryAfter, requestId);
}

export function refusalFrom(status: number, text: string, retryAfter = 0, requestId = ''): ApiError {
  let sentence = '';
  let code = '';
  try {
    const parsed = JSON.parse(text) as { error?: string; message?: string; code?: string };
    sentence = parsed.message ?? parsed.error ?? '';
    code = parsed.code ?? '';
  } catch {
    // Not the hub's own words (a proxy's error page): never shown.
  }
  if (!sentence) sentence = status >= 500 ? 'The hub has a problem right now. Try again later.' : `The hub refused (${status}).`;
  return new ApiError(status, code, sentence, retryAfter, requestId);
}

export async function request<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await raw(method, path, options);
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Long lists as they were last told, with the hub's mark of them: what has not changed is not sent again. */
const lists = new Map<string, { tag: string; list: unknown }>();

export async function getList<T>(path: string): Promise<T> {
  const known = lists.get(path);
  const response = await raw('GET', path, { headers: known ? { 'if-none-match': known.tag } : {} });
  if (response.status === 304 && known) return known.list as T;
  const list = (await response.json()) as T;
  const tag = response.headers.get('etag');
  if (tag) lists.set(path, { tag, list });
  else lists.delete(path);
  return list;
}

const get = <T>(path: string, query?: Query, signal?: AbortSignal) => request<T>('GET', path, { query, signal });
const post = <T>(path: string, body: unknown = {}, headers?: Record<string, string>) =>
  request<T>('POST', path, { body, headers });
const patch = <T>(path: string, body: unknown = {}) => request<T>('PATCH', path, { body });
const del = <T>(path: string) => request<T>('DELETE', path);

export interface PageOf {
  limit?: number;
  before?: number | string;
  after?: number | string;
  replies?: boolean;
}

export const auth = {
  setup: () => get<Setup>('setup'),
  register: (body: RegisterBody) => post<Session>('auth/register', body),
  login: (body: LoginBody) => post<Session>('auth/login', body),
  renew: () => post<Session>('auth/renew'),
  logout: () => post<unknown>('auth/logout'),
  providers: () => get<Provider[]>('auth/providers'),
  invite: (code: string) => get<Invitation>(`invites/${id(code)}`),
  join: (body: JoinBody) => post<Session>('auth/join', body),
  password: (current_password: string, new_password: string, keep: string[]) =>
    post<PasswordChanged>('members/me/password', { current_password, new_password, keep }),
};

export const workspaces = {
  list: () => get<Workspace[]>('workspaces'),
  get: (ws: string) => get<Workspace>(`workspaces/${id(ws)}`),
  rename: (ws: string, name: string) => patch<Workspace>(`workspaces/${id(ws)}`, { name }),
  daemons: (ws: string) => get<Daemon[]>(`workspaces/${id(ws)}/daemons`),
  invites: (ws: string) => get<Invite[]>(`workspaces/${id(ws)}/invites`),
  invite: (ws: string, body: InviteBody = {}) =>
    post<NewInvite>(`workspaces/${id(ws)}/invites`, body),
  uninvite: (ws: string, invite: string) => del(`workspaces/${id(ws)}/invites/${id(invite)}`),
  usage: (ws: string) => get<Usage>(`workspaces/${id(ws)}/usage`),
  runs: (ws: string, state?: RunState) => get<Run[]>(`workspaces/${id(ws)}/runs`, { state }),
};

export const members = {
  me: () => get<Member>('members/me'),
  list: (ws: string) => getList<Member[]>(`workspaces/${id(ws)}/members`),
  get: (ws: string, member: string) => get<Member>(`workspaces/${id(ws)}/members/${id(member)}`),
  add: (ws: string, body: NewMemberBody) => post<NewMember>(`workspaces/${id(ws)}/members`, body),
  change: (ws: string, member: string, body: MemberChange) => patch<Member>(`workspaces/${id(ws)}/members/${id(member)}`, body),
  remove: (ws: string, member: string) => del(`workspaces/${id(ws)}/members/${id(member)}`),
  credentials: () => get<Credentials>('members/me/credentials'),
  endCredential: (credential: string) => del(`members/me/credentials/${id(credential)}`),
  newKey: (ws: string, member: string) => post<NewKey>(`workspaces/${id(ws)}/members/${id(member)}/key`),
};

/** Machines with a key of their own; the key is told once. */
export const machines = {
  list: (ws: string) => get<Machine[]>(`workspaces/${id(ws)}/machines`),
  add: (ws: string, name: string) => post<NewMachine>(`workspaces/${id(ws)}/machines`, { name }),
  remove: (ws: string, machine: string) => del(`workspaces/${id(ws)}/machines/${id(machine)}`),
};

export const channels = {
  list: (ws: string) => getList<Channel[]>(`workspaces/${id(ws)}/channels`),
  directs: () => getList<Channel[]>('users/me/dms'),
  get: (ws: string, channel: string) => get<Channel>(`workspaces/${id(ws)}/channels/${id(channel)}`),
  create: (ws: string, body: NewChannel) =>
    post<Channel>(`workspaces/${id(ws)}/channels`, body),
  change: (ws: string, channel: string, body: ChannelChange) =>
    patch<Channel>(`workspaces/${id(ws)}/channels/${id(channel)}`, body),
  archive: (ws: string, channel: string, on: boolean) =>
    post<Channel>(`workspaces/${id(ws)}/channels/${id(channel)}/${on ? 'archive' : 'unarchive'}`),
  remove: (ws: string, channel: string) => del(`workspaces/${id(ws)}/channels/${id(channel)}`),
  admit: (ws: string, channel: string, member_id?: string) =>
    post<Channel>(`workspaces/${id(ws)}/channels/${id(channel)}/members`, { member_id }),
  leave: (ws: string, channel: string, member: string) =>
    del(`workspaces/${id(ws)}/channels/${id(channel)}/members/${id(member)}`),
  direct: (ws: string, member_ids: string[]) => post<Channel>(`workspaces/${id(ws)}/dm`, { member_ids }),
  read: (channel: string, seq?: number) =>
    post<ReadState>(`channels/${id(channel)}/read`, { seq }),
  notify: (channel: string, preference: NotifyPreference) =>
    patch<unknown>(`channels/${id(channel)}/notification-preference`, { preference }),
  pins: (channel: string) => get<PinnedMessage[]>(`channels/${id(channel)}/pins`),
  pin: (channel: string, message_id: string) => post<Pin>(`channels/${id(channel)}/pins`, { message_id }),
  unpin: (pin: string) => del(`pins/${id(pin)}`),
  deliveries: (channel: string, query: { message_id?: string; state?: DeliveryState; limit?: number } = {}) =>
    get<Delivery[]>(`channels/${id(channel)}/deliveries`, query),
  runs: (channel: string, query: { state?: RunState; limit?: number; before?: string } = {}) =>
    get<Run[]>(`channels/${id(channel)}/runs`, query),
  wakePreview: (channel: string, content: string, thread_id?: string | null) =>
    post<WakePreview>(`channels/${id(channel)}/wake-preview`, { content, thread_id }),
};

export const messages = {
  page: (channel: string, query: PageOf = {}) => get<Message[]>(`channels/${id(channel)}/messages`, { ...query }),
  get: (message: string) => get<Message>(`messages/${id(message)}`),
  thread: (message: string) => get<Message[]>(`messages/${id(message)}/thread`),
  edits: (message: string) => get<Edit[]>(`messages/${id(message)}/edits`),
  send: (channel: string, body: NewMessage, key: string) =>
    request<Message>('POST', `channels/${id(channel)}/messages`, { body, headers: { 'idempotency-key': key }, signal: AbortSignal.timeout(SEND_MS) }),
  edit: (message: string, content: string) => patch<Message>(`messages/${id(message)}`, { content }),
  remove: (message: string) => del(`messages/${id(message)}`),
  react: (message: string, emoji: string) => post(`messages/${id(message)}/reactions`, { emoji }),
  unreact: (message: string, emoji: string) => del(`messages/${id(message)}/reactions/${id(emoji)}`),
  search: (query: { q?: string; beginnings?: boolean; channel?: string; from?: string; has?: 'file' | 'link'; before?: number; after?: number; limit?: number }, signal?: AbortSignal) =>
    get<Message[]>('search', query, signal),
  threads: () => get<Thread[]>('threads'),
};

export const notifications = {
  list: (query: { unread?: boolean; limit?: number; before?: string } = {}) => get<Notification[]>('notifications', query),
  count: () => get<Count>('notifications/unread-count'),
  read: (notification: string) => patch<Notification>(`notifications/${id(notification)}/read`),
  readAll: () => post('notifications/mark-all-read'),
};

export const approvals = {
  list: (ws: string, query: { status?: Approval['status']; limit?: number } = {}) =>
    get<Approval[]>(`workspaces/${id(ws)}/approvals`, query),
  get: (approval: string) => get<Approval>(`approvals/${id(approval)}`),
  decide: (approval: string, body: Decision) =>
    patch<Approval>(`approvals/${id(approval)}`, body),
};

export const runs = {
  get: (run: string, query: { after?: number; limit?: number } = {}) => get<RunWithActions>(`runs/${id(run)}`, query),
  stop: (run: string) => post<Run>(`runs/${id(run)}/stop`),
  diff: async (run: string) => (await raw('GET', `runs/${id(run)}/diff`)).text(),
};

export const deliveries = {
  cancel: (delivery: string) => post<Delivery>(`deliveries/${id(delivery)}/cancel`),
};

export const tasks = {
  list: (ws: string, query: Query = {}) => get<Task[]>(`workspaces/${id(ws)}/tasks`, query),
  get: (task: string) => get<Task>(`tasks/${id(task)}`),
  create: (ws: string, body: NewTask) => post<Task>(`workspaces/${id(ws)}/tasks`, body),
  change: (task: string, body: TaskChange) =>
    patch<Task>(`tasks/${id(task)}`, body),
  claim: (task: string) => post<Task>(`tasks/${id(task)}/claim`),
  remove: (task: string) => del(`tasks/${id(task)}`),
};

export const files = {
  get: (file: string) => get<StoredFile>(`files/${id(file)}`),
  list: (ws: string, query: { channel_id?: string; limit?: number; before?: string } = {}) =>
    get<StoredFile[]>(`workspaces/${id(ws)}/files`, query),
  remove: (file: string) => del(`files/${id(file)}`),
  blob: async (file: string) => (await raw('GET', `files/${id(file)}/download`)).blob(),
  /** Uploads with progress, which `fetch` does not tell. */
  upload(ws: string, file: File, channel: string, progress: (share: number) => void, signal?: AbortSignal): Promise<StoredFile> {
    return new Promise((resolve, reject) => {
      const call = new XMLHttpRequest();
      const form = new FormData();
      form.set('channel_id', channel);
      form.set('file', file, file.name);
      call.open('POST', address(`workspaces/${id(ws)}/files`));
      call.setRequestHeader('authorization', `Bearer ${token}`);
      call.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
      call.onload = () => {
        if (call.status < 300) resolve(JSON.parse(call.responseText) as StoredFile);
        else reject(refusalFrom(call.status, call.responseText, Number(call.getResponseHeader('retry-after') ?? 0)));
      };
      call.onerror = () => reject(new ApiError(0, 'OFFLINE', 'The hub cannot be reached.'));
      call.onabort = () => reject(new DOMException('The upload was stopped.', 'AbortError'));
      signal?.addEventListener('abort', () => call.abort());
      call.send(form);
    });
  },
};

export const hosting = {
  engines: (again = false) => get<Engine[]>('engines', again ? { again } : {}),
  test: (engine: string) =>
    post<EngineTest>(`engines/${id(engine)}/test`),
  list: () => get<Hosted[]>('hosting'),
  create: (body: HostBody) => post<NewHosted>('hosting', body),
  remove: (name: string) => del(`hosting/${id(name)}`),
};

export const telegram = {
  link: () => get<TelegramLink>('telegram/link'),
  begin: () => post<TelegramCode>('telegram/link'),
  end: () => del('telegram/link'),
};

export const admin = {
  stats: () => get<Figures>('admin/stats'),
  backup: () => post<BackupMade>('admin/backup'),
  status: () => get<Status>('status'),
};
