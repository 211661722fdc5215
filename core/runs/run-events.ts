import type { RunRecord } from './run-records.ts';
import type { Sharing } from '#protocol/settings/shared-values.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { NewEvent, RunEventType } from './timeline.ts';

export function runCreated({ owner, title, sandboxId, autoApproveTools }: RunRecord): NewEvent {
  return {
    type: 'run.created',
    key: 'run-created',
    data: { owner: owner.user, title, sandbox_id: sandboxId, auto_approve_tools: autoApproveTools },
  };
}

/** @param version of the run's agent token: each version counts as one connection */
export function agentConnected(version: number): NewEvent {
  return { type: 'agent.connected', key: `agent-connected:${version}`, data: {} };
}

export function runCompleted(): NewEvent {
  return { type: 'run.completed', key: 'run-completed', data: {} };
}

/** @param id of the change: a run may be shared so again */
export function runShared(sharing: Sharing, by: string, id: string): NewEvent {
  return { type: 'run.shared', key: `run-shared:${id}`, data: { sharing, by: 'person', user: by } };
}

export function sandboxCreated({ id, image }: Pick<SandboxRecord, 'id' | 'image'>): NewEvent {
  return { type: 'sandbox.created', key: 'sandbox-created', data: { sandbox_id: id, image } };
}

/** Several functions may report the same change: within this time it is appended once. */
const AT_ONCE_MS = 1_000;

export type SandboxChange = Extract<
  RunEventType,
  'sandbox.stopped' | 'sandbox.resumed' | 'sandbox.destroyed'
>;

/** @param why the reason of a stop by the provider; @default none */
export function sandboxChanged(type: SandboxChange, sandboxId: string, why?: string): NewEvent {
  return {
    type,
    key: type,
    data: { sandbox_id: sandboxId, ...(why !== undefined && { reason: why }) },
    // A sandbox is destroyed only once.
    ...(type === 'sandbox.destroyed' ? {} : { again: AT_ONCE_MS }),
  };
}
