import type { Owner } from '#base/clock-and-ids.ts';
import type { AuditEventType } from '#protocol/audit-event-types.ts';
import type { EventData, NewEvent, RunEventType } from '../runs/timeline.ts';
import type { Actor } from './present-cause.ts';

export const RESULTS = ['ok', 'denied'] as const;

/** What happened. The time, the cause and the id are added where it is stored. */
export interface NewAuditEvent {
  readonly type: AuditEventType;
  /** What was changed: `sandbox/ID`, `run/ID/port/3000`. */
  readonly subject: string;
  /** The owner of what was changed; null: the installation. */
  readonly owner: Owner | null;
  /** Never a token, a secret, a URL of a preview, or output of a command. */
  readonly data: EventData;
  /** @default ok */
  readonly result?: (typeof RESULTS)[number];
}

/** What may name people: a row keeps its hash when this is redacted. */
export interface AuditDetails {
  readonly actor: Actor;
  readonly on_behalf_of: string | null;
  readonly owner: Owner | null;
  readonly source_ip: string | null;
  readonly request_id: string | null;
  readonly reason: string | null;
  readonly data: EventData;
}

/** A row of the audit. The fields and `hash` are those of `docs/reference/audit.md`. */
export interface AuditRow {
  /** 1, 2, 3 … without a gap. */
  readonly seq: number;
  readonly id: string;
  readonly type: AuditEventType;
  readonly at: Date;
  readonly subject: string;
  readonly result: (typeof RESULTS)[number];
  /** Null once it is redacted, with its `salt`. */
  readonly details: AuditDetails | null;
  readonly salt: string | null;
  readonly detailsHash: string;
  /** `hash` of the row before; 64 zeros for the first. */
  readonly prevHash: string;
  readonly hash: string;
}

/** The hash of a row, signed. */
export interface AuditHead {
  readonly seq: number;
  readonly hash: string;
  readonly at: Date;
  /** A JWT (EdDSA) with `seq` and `hash`. */
  readonly token: string;
}

export interface AuditFilter {
  readonly types?: readonly AuditEventType[] | undefined;
  readonly subject?: string | undefined;
  /** An actor, an owner, or the person for whom an agent acted. */
  readonly user?: string | undefined;
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
}

export interface AuditRecords {
  /** Adds events that are no part of another change. */
  add(events: readonly NewAuditEvent[]): Promise<void>;
  /** Puts at most `most` stored events at the end of the chain; returns how many. */
  chain(most: number): Promise<number>;
  /**
   * The rows after `after` in the order of the chain, or backwards from its end or from `after`.
   * `invalid_request` on a limit outside 1..1000.
   */
  read(
    filter: AuditFilter,
    page: { readonly after: number; readonly limit: number; readonly order?: 'asc' | 'desc' },
  ): Promise<{ readonly rows: readonly AuditRow[]; readonly more: boolean }>;
  /** When the oldest event happened that is not in the chain; undefined: all are. */
  oldestLoose(): Promise<Date | undefined>;
  /** The last row of the chain; undefined: it is empty. */
  last(): Promise<Pick<AuditRow, 'seq' | 'hash' | 'type'> | undefined>;
  /**
   * Also adds the events. Does nothing if the row has a head.
   * @param options `isWaiting`: until `anchored`. @default false
   */
  addHead(
    head: AuditHead,
    options?: { readonly isWaiting: boolean; readonly events: readonly NewAuditEvent[] },
  ): Promise<void>;
  /** Heads that wait to be anchored, at most 100, oldest first. */
  waitingHeads(): Promise<readonly AuditHead[]>;
  /** The head of this row no longer waits. */
  anchored(seq: number): Promise<void>;
  /** The heads of the rows from `from` on, at most 1,000, oldest first. */
  heads(from: number): Promise<readonly AuditHead[]>;
  lastHead(): Promise<AuditHead | undefined>;
  /** Removes what names a user from the rows; returns their number. Their hashes stay valid. */
  redact(user: string): Promise<number>;
  /** Deletes the rows before this instant that a head follows; returns how many. */
  forget(before: Date): Promise<number>;
  /**
   * Calls `wake` after each change of this process that stored events. Returns a function that
   * stops it.
   */
  watch(wake: () => void): () => void;
}

/** Timeline events that are no part of the audit: what a sandbox says, or has a row already. */
const OTHERWISE: ReadonlySet<RunEventType> = new Set([
  'sandbox.created',
  'sandbox.stopped',
  'sandbox.resumed',
  'sandbox.destroyed',
  'port.listening',
  'port.closed',
  'server.changed',
  'process.started',
  'process.exited',
]);

const APPROVAL_TYPES: Partial<Record<RunEventType, AuditEventType>> = {
  'tool.approval_required': 'approval.requested',
  'tool.approved': 'approval.granted',
  'tool.denied': 'approval.denied',
  'tool.timed_out': 'approval.timed_out',
  'tool.withdrawn': 'approval.withdrawn',
};

/** An event of a run's timeline as one of the audit; undefined: it is no part of the audit. */
export function auditEventOf(
  run: { readonly id: string; readonly owner: Owner },
  { type, data }: NewEvent,
): NewAuditEvent | undefined {
  if (OTHERWISE.has(type)) return undefined;
  return {
    type: APPROVAL_TYPES[type] ?? (type as AuditEventType),
    subject: subjectOf(run.id, type, data),
    owner: run.owner,
    data: { run_id: run.id, ...data },
  };
}

function subjectOf(runId: string, type: RunEventType, data: EventData): string {
  if (APPROVAL_TYPES[type] !== undefined) return `approval/${data['request_id']}`;
  if (type.startsWith('checkpoint.')) return `checkpoint/${data['checkpoint_id']}`;
  const port = data['target_port'] ?? null;
  return type.startsWith('preview.') && port !== null ? previewSubject(runId, port) : `run/${runId}`;
}

export function previewSubject(runId: string, port: EventData[string]): string {
  return `run/${runId}/port/${port}`;
}
