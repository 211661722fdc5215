/** What a run's timeline tells of. */
export type RunEventType =
  | 'run.created'
  | 'run.completed'
  | 'agent.connected'
  | 'sandbox.created'
  | 'sandbox.stopped'
  | 'sandbox.resumed'
  | 'sandbox.destroyed'
  | 'preview.opened'
  | 'preview.kept'
  | 'preview.stopped'
  | 'preview.reaped'
  | 'preview.looked'
  | 'tool.approval_required'
  | 'tool.approved'
  | 'tool.denied'
  | 'tool.timed_out'
  | 'tool.withdrawn'
  | 'port.listening'
  | 'port.closed'
  | 'server.changed'
  | 'process.started'
  | 'process.exited';

/** The run's agent reads it too: never a token, a URL or a key. */
export type EventData = Readonly<Record<string, string | number | boolean | null>>;

export interface RunEvent {
  /**
   * 1, 2, 3 … within its run, without a gap; what can be read is never preceded by what comes
   * later.
   */
  readonly seq: number;
  readonly type: RunEventType;
  readonly at: Date;
  readonly data: EventData;
}

export interface NewEvent {
  readonly type: RunEventType;
  readonly data: EventData;
  /**
   * Names what is told: an event under a key that the run's timeline has already is not appended
   * again. So telling may be repeated.
   */
  readonly key: string;
  /** Milliseconds after which the same may be told again. @default never */
  readonly again?: number | undefined;
}

/** The ordered, durable story of each run. */
export interface TimelineRecords {
  /**
   * Appends, in their order, those that are news. A run that is not known has no timeline: nothing
   * happens.
   */
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
   * Calls `wake` after each append to the run, by whichever instance, and whenever appends may have
   * been missed. It may come without one, and it may be late: look before you wait, and look again
   * now and then. Returns what ends it.
   */
  watch(runId: string, wake: () => void): () => void;
}
