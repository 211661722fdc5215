export const RUN_EVENT_TYPES = [
  'run.created',
  'run.completed',
  'run.shared',
  'agent.connected',
  'sandbox.created',
  'sandbox.stopped',
  'sandbox.resumed',
  'sandbox.destroyed',
  'checkpoint.created',
  'checkpoint.restored',
  'checkpoint.forked',
  'preview.opened',
  'preview.kept',
  'preview.stopped',
  'preview.reaped',
  'preview.visited',
  'preview.looked',
  'inbox.posted',
  'inbox.replied',
  'tool.approval_required',
  'tool.approved',
  'tool.denied',
  'tool.timed_out',
  'tool.withdrawn',
  'port.listening',
  'port.closed',
  'server.changed',
  'process.started',
  'process.exited',
] as const;

export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** The role of a caller in a run. */
export type Role = 'agent' | 'owner' | 'admin' | 'member' | 'traffic';

/** The actor of an event of a run. The owner has no name here: the run has it. */
export type Actor = Role | { readonly by: Role; readonly user: string };

/** The run's agent reads it too: never a token, a URL or a key. */
export type EventData = Readonly<Record<string, string | number | boolean | null>>;

export interface RunEvent {
  /** 1, 2, 3 … within its run, without a gap. No event is added before a readable one. */
  readonly seq: number;
  readonly type: RunEventType;
  readonly at: Date;
  readonly data: EventData;
}

export interface NewEvent {
  readonly type: RunEventType;
  readonly data: EventData;
  /** Idempotency key: an event with a key that the run's timeline already has is not appended. */
  readonly key: string;
  /** Milliseconds after which the same key may be appended again. @default never */
  readonly again?: number | undefined;
}

/** The ordered, durable event log of each run. */
export interface TimelineRecords {
  /** Appends the events with new keys, in order. Does nothing if the run does not exist. */
  append(runId: string, events: readonly NewEvent[], at: Date): Promise<void>;
  /**
   * The events after `after` (0: from the first), oldest first. `invalid_request` on a limit
   * outside 1..1000.
   */
  read(
    runId: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly RunEvent[]; readonly more: boolean }>;
  /**
   * Calls `wake` after each append to the run by any instance, and when appends may have been
   * missed. Wakes may be spurious or late: read before waiting, and poll now and then. Returns the
   * function that ends the watch.
   */
  watch(runId: string, wake: () => void): () => void;
}
