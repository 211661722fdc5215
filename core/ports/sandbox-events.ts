import type { EventData } from './timeline.ts';

/** What is told of a sandbox to whoever follows it. */
export type SandboxEventType =
  | 'file_written'
  | 'file_deleted'
  | 'exec'
  | 'stopped'
  | 'resumed'
  | 'preview_opened'
  | 'port_listening'
  | 'port_closed'
  | 'server'
  | 'process_started'
  | 'process_exited'
  | 'network';

export interface NewSandboxEvent {
  readonly type: SandboxEventType;
  readonly at: Date;
  /** Whom it was lent to reads it, too: never a token, a URL or a key of ours. */
  readonly data: EventData;
  /** An event whose key the sandbox has already is not stored again. */
  readonly key?: string | undefined;
}

export interface SandboxEvent extends Omit<NewSandboxEvent, 'key'> {
  /** Ascending within its sandbox; what can be read is never preceded by what comes later. */
  readonly seq: number;
}

/** What happened in sandboxes lately. It is for information: what nobody could be told of is lost. */
export interface SandboxEventRecords {
  /** Appends them to the sandbox that has the id, and lets go of all but its last `kept`. One that is not there has none: nothing happens. */
  append(sandboxId: string, events: readonly NewSandboxEvent[], kept: number): Promise<void>;
  /** Those of the sandbox that has the id after `after` (0: from the first), oldest first. `invalid_request` on a limit outside 1..1000. */
  read(
    sandboxId: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly SandboxEvent[]; readonly more: boolean }>;
  /** Calls `wake` after each append, by whichever instance. It may come without one, and it may be late. Returns what ends it. */
  watch(sandboxId: string, wake: () => void): () => void;
  /** Forgets those told before; says how many. */
  forget(before: Date): Promise<number>;
}
