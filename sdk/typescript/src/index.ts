/** Agents for a Folkmoot hub. In reading order: the agent, what wakes it, the text that grows, what can go wrong. */
export { Agent, type AgentOptions, type Decision, type Handler, type ReplyOptions } from './agent.js';
export { Wake, type RecentMessage } from './wake.js';
export type { Stream } from './stream.js';
export type { Tasks, Files } from './work.js';
export { Refused, Stopped, StreamStopped, WaitTimeout } from './errors.js';
export type { components } from './api.js';
export type { Approval, File, Message, Task, TaskChange, TaskStatus } from './objects.js';
