/** The objects of the hub as `/v1` and `/ws` write them. Times are milliseconds unless the name says otherwise. */

export type Json = Record<string, unknown>;

export interface Session {
  token: string;
  member_id: string;
  workspace_id: string;
  name: string;
  workspace?: { id: string; name: string; slug: string } | null;
}

export interface Workspace {
  id: string;
  name: string;
  slug: string;
  created_at: number;
}

export type Presence = 'online' | 'idle' | 'dnd' | 'sleeping' | 'offline';

export interface Member {
  id: string;
  workspace_id: string;
  type: 'human' | 'agent';
  role: 'member' | 'admin' | 'owner';
  name: string;
  nick?: string | null;
  email?: string | null;
  avatar_file_id?: string | null;
  role_card?: { system_prompt?: string; capabilities?: string[] } | null;
  runtime?: { type?: string | null; provider?: string | null; model?: string | null } | null;
  status: Presence;
  online: boolean;
  created_by?: string | null;
  created_at: number;
}

export interface Channel {
  id: string;
  workspace_id: string;
  type: 'channel' | 'private' | 'dm' | 'group_dm';
  name: string;
  topic: string;
  archived: boolean;
  created_by: string;
  created_at: number;
  /** Position of the newest stored event. */
  seq: number;
  room_version: number;
  member_ids: string[];
  member_count: number;
  is_member: boolean;
  unread_count: number;
  read_seq: number;
  notification_preference: 'all' | 'mentions' | 'none';
}

export interface Reaction {
  emoji: string;
  members: string[];
}

export interface Message {
  id: string;
  channel_id: string;
  sender_id: string;
  sender_name: string;
  thread_id?: string | null;
  content: string;
  content_type: 'text' | 'markdown';
  file_id?: string | null;
  type: string;
  metadata: Json;
  edited_at?: number | null;
  edit_count: number;
  reply_count: number;
  reactions?: Reaction[];
  created_at: number;
  updated_at: number;
  seq: number;
  root_id?: string | null;
  depth?: number;
  /** A text that still grows; it has no position and the final message follows under another id. */
  partial?: boolean;
  final_id?: string | null;
}

export interface Edit {
  id: string;
  message_id: string;
  previous_content: string;
  edited_at: number;
}

export interface Pin {
  id: string;
  channel_id: string;
  message_id: string;
  pinned_by: string;
  created_at: number;
}

export interface PinnedMessage extends Pin {
  message: Message;
}

export interface Notification {
  id: string;
  member_id: string;
  type: string;
  title: string;
  body: string;
  channel_id?: string | null;
  message_id?: string | null;
  is_read: boolean;
  created_at: number;
  source_type: string;
  priority: string;
  ack_required: boolean;
  acked_at?: number | null;
  expires_at?: number | null;
  payload?: string | null;
}

export interface Approval {
  id: string;
  workspace_id: string;
  channel_id?: string | null;
  agent_id: string;
  action: string;
  payload: string;
  status: 'pending' | 'approved' | 'rejected' | 'denied' | 'expired' | 'cancelled' | string;
  reviewer_id?: string | null;
  review_note?: string | null;
  created_at: number;
  reviewed_at?: number | null;
  kind: 'action' | 'permission' | 'brake' | string;
  fingerprint?: string | null;
  run_id?: string | null;
  asker_id?: string | null;
  scope: 'once' | 'run';
  expires_at: number;
  used_at?: number | null;
  /** The whole action as people shall see it, made by the hub. */
  shown?: Shown | null;
}

export interface ShownPart {
  label: string;
  kind: 'command' | 'place' | 'url' | 'diff' | 'argument' | string;
  text: string;
}

/** Every argument is in exactly one part; nothing is cut, and nothing in it is invisible. */
export interface Shown {
  /** By the hub, never the asker's words. */
  heading: string;
  /** Why it is destructive: comes before everything else. */
  warning: string | null;
  /** The asker's own words. */
  says: string | null;
  parts: ShownPart[];
  choices: string[];
}

export type TaskStatus = 'todo' | 'in_progress' | 'review' | 'done';
export type Priority = 'low' | 'medium' | 'high' | 'urgent';

export interface Task {
  id: string;
  workspace_id: string;
  channel_id?: string | null;
  message_id?: string | null;
  title: string;
  description: string;
  status: TaskStatus;
  priority: Priority;
  assigned_to?: string | null;
  created_by: string;
  created_at: number;
  updated_at: number;
}

export interface StoredFile {
  id: string;
  workspace_id: string;
  channel_id?: string | null;
  uploaded_by: string;
  filename: string;
  content_type: string;
  size: number;
  created_at: number;
}

/** Milliseconds or RFC 3339; `toMillis` reads both. */
export type When = number | string;

export type DeliveryState =
  | 'queued'
  | 'leased'
  | 'admitted'
  | 'answered'
  | 'passed'
  | 'failed'
  | 'expired'
  | 'cancelled'
  | 'suppressed';

export interface Delivery {
  id: string;
  channel_id: string;
  thread_id?: string | null;
  agent_id: string;
  agent_name: string;
  sender_id: string;
  reason: string;
  state: DeliveryState;
  why?: string | null;
  message_ids: string[];
  task_id?: string | null;
  root_id: string;
  depth: number;
  run_id?: string | null;
  reply_id?: string | null;
  created_at: When;
  updated_at: When;
  expires_at: When;
}

export interface FileChange {
  path: string;
  kind: 'added' | 'modified' | 'deleted' | 'renamed';
  added: number;
  removed: number;
}

export interface Run {
  id: string;
  channel_id: string;
  thread_id: string;
  message_id: string;
  trigger_id: string;
  delivery_id: string;
  agent_id: string;
  agent_name: string;
  asker_id: string;
  engine: string;
  model?: string | null;
  project?: string | null;
  branch?: string | null;
  machine?: string | null;
  state: 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
  error?: string | null;
  resume?: string | null;
  resume_line?: string | null;
  started_at: When;
  ended_at?: When | null;
  usage?: Json | null;
  cost_usd?: number | null;
  action_count: number;
  changes: FileChange[];
  has_diff: boolean;
  stop_requested: boolean;
  /** The whole answer, only where it is too long for the message. */
  answer?: string | null;
}

export interface Action {
  /** Of its newest event; `first_seq` is where it began and where it stays. */
  seq: number;
  first_seq?: number;
  id: string;
  kind: string;
  title: string;
  phase: 'started' | 'updated' | 'completed';
  ok?: boolean | null;
  detail?: Json | null;
  at: When;
}

export interface RunWithActions extends Run {
  actions: Action[];
}

export interface WakePreview {
  wakes: { agent_id: string; name: string; reason: string; reachable: boolean; presence: string }[];
}

export interface Daemon {
  id: string;
  name: string;
  status: string;
  agent_count: number;
  started_at: number;
  member_id: string;
  agents: { name: string; agent_id: string }[];
}

/** A machine that has a key of its own. */
export interface Machine {
  id: string;
  name: string;
  owner_id: string;
  created_at: number;
  last_seen_at: number | null;
  online: boolean;
  agents: { id: string; name: string }[];
}

/** How much of what there is, and how much there may be; without a limit, as much as one likes. */
export interface Use {
  used: number;
  limit?: number | null;
}

export interface Usage {
  workspace: Record<string, Use>;
  me: Record<string, Use>;
}

/** What speaks for a person: their log-ins, and keys of theirs. */
export interface Credentials {
  sessions: { id: string; created_at: number; last_seen_at?: number | null; address?: string | null; device?: string | null; current: boolean }[];
  keys: { id: string; kind: 'api_key' | 'machine' | 'provision' | 'telegram' | string; name?: string | null; created_at: number }[];
}

export interface Engine {
  id: string;
  found: boolean;
  version?: string | null;
  command: string;
  problem?: string | null;
  hint?: string | null;
}

export interface Hosted {
  name: string;
  agent_id: string;
  engine: string;
  project?: string | null;
  policy: string;
  state: 'running' | 'stopped' | 'failed';
  problem?: string | null;
}

export interface Invite {
  id: string;
  code?: string;
  url?: string;
  role?: string;
  channel_ids?: string[];
  created_by?: string;
  expires_at: number;
  created_at?: number;
}

/** A frame of Lark. */
export interface Frame<T = Json> {
  v?: number;
  id?: string | null;
  type: string;
  ts?: number;
  reply_to?: string | null;
  data: T;
}

export const toMillis = (when: When | null | undefined): number =>
  when == null ? 0 : typeof when === 'number' ? when : Date.parse(when);
