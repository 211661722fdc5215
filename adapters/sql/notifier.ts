import type { Kysely } from 'kysely';
import type { SqlSchema } from './schema.ts';

/** How an append to a run's timeline wakes those who watch it. */
export interface Notifier {
  /** Within the transaction that appends. */
  announce(trx: Kysely<SqlSchema>, runId: string): Promise<void>;
  /** Once that transaction has been committed. */
  committed(runId: string): void;
  /** Calls `wake` for each append to the run (`EVERY_RUN`: to any), and whenever some may have been missed. Returns what ends it. */
  watch(runId: string, wake: () => void): () => void;
  close(): Promise<void>;
}

/** Stands for every run with those who watch. */
export const EVERY_RUN = '*';

/** Who watches which run. */
export interface Watchers {
  add(runId: string, wake: () => void): () => void;
  wake(runId: string): void;
  wakeAll(): void;
}

export function watchers(): Watchers {
  const byRun = new Map<string, Set<{ readonly wake: () => void }>>();
  return {
    add(runId, wake) {
      const entry = { wake };
      const present = byRun.get(runId) ?? new Set();
      byRun.set(runId, present.add(entry));
      return () => {
        present.delete(entry);
        if (present.size === 0 && byRun.get(runId) === present) byRun.delete(runId);
      };
    },
    wake(runId) {
      for (const { wake } of byRun.get(runId) ?? []) wake();
      for (const { wake } of byRun.get(EVERY_RUN) ?? []) wake();
    },
    wakeAll() {
      for (const entries of byRun.values()) for (const { wake } of entries) wake();
    },
  };
}
