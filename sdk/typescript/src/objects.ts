/** The hub's objects that the kit hands out, by their names in the hub's description. */
import type { components } from './api.js';

type Schemas = components['schemas'];
export type Approval = Schemas['Approval'];
export type File = Schemas['File'];
export type Member = Schemas['Member'];
export type Message = Schemas['Message'];
export type Task = Schemas['Task'];
export type TaskChange = Schemas['TaskChange'];
export type TaskStatus = Schemas['TaskStatus'];
export type WakeReason = Schemas['WakeReason'];
