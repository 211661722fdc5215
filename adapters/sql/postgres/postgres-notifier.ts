import { sql } from 'kysely';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { type Notifier, watchers } from '../sql-dialect.ts';
import type { RecordsLog } from '../sql-session.ts';
import { CONNECTION } from './connection-pool.ts';

export interface PostgresNotifierOptions {
  readonly url: string;
  readonly log?: RecordsLog | undefined;
}

const CHANNEL = 'porthole_timeline';
/** In milliseconds. The connection is mostly silent, and middleboxes drop silent connections. */
const KEEP_ALIVE_MS = 30_000;
/** Pause between attempts to reconnect, in milliseconds; doubles each time. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/**
 * PostgreSQL's LISTEN/NOTIFY. The notification is part of the appending transaction, so it arrives
 * with its commit or not at all. One connection, in addition to the pool's, listens for the whole
 * instance, from the first watcher on. Notifications are lost while it is down, so a reconnect
 * wakes every watcher.
 */
export function postgresNotifier({ url, log }: PostgresNotifierOptions): Notifier {
  const watching = watchers();
  const closing = new AbortController();
  let listening: Promise<void> | undefined;
  let client: Client | undefined;

  const listenOnce = async (): Promise<void> => {
    if (closing.signal.aborted) return;
    const line = new Client({
      ...CONNECTION,
      connectionString: url,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
    client = line;
    const ended = new Promise<void>((resolve, reject) => {
      // Every connection needs a listener: an unhandled `error` event ends the process.
      line.on('error', reject);
      line.once('end', resolve);
    });
    // Until it listens, the failing call reports the error.
    ended.catch(() => undefined);
    line.on('notification', ({ payload }) => watching.wake(payload ?? ''));
    try {
      await line.connect();
      await line.query(`listen ${CHANNEL}`);
      watching.wakeAll();
      await ended;
    } finally {
      line.end().catch(() => undefined);
    }
  };
  const listen = async (): Promise<void> => {
    let pause = FIRST_PAUSE_MS;
    while (!closing.signal.aborted) {
      const began = performance.now();
      try {
        await listenOnce();
      } catch (error) {
        if (!closing.signal.aborted) log?.warn({ err: error }, 'the LISTEN connection for run events failed');
      }
      if (performance.now() - began > MAX_PAUSE_MS) pause = FIRST_PAUSE_MS;
      await delay(pause, undefined, { signal: closing.signal }).catch(() => undefined);
      pause = Math.min(pause * 2, MAX_PAUSE_MS);
    }
  };

  return {
    async announce(trx, runId) {
      await sql`select pg_notify(${CHANNEL}, ${runId})`.execute(trx);
    },
    committed: () => undefined,
    watch(runId, wake) {
      listening ??= listen();
      return watching.add(runId, wake);
    },
    async close() {
      closing.abort();
      client?.end().catch(() => undefined);
      await listening;
    },
  };
}
