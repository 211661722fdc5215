/** Whether the server can be reached. */
export interface Connection {
  readonly isLost: boolean;
  /** How often it came back: requests and streams start again. */
  readonly returns: number;
}

const RETRY_MS = 1_000;
const PATIENCE_MS = 10_000;

let connection: Connection = { isLost: false, returns: 0 };
let running: Promise<boolean> | undefined;
const listeners = new Set<() => void>();

function change(next: Connection): void {
  connection = next;
  for (const listener of listeners) listener();
}

/**
 * Whether the server can be reached, asked now: after a request without a response. If not, it is
 * asked again until it can be.
 */
export function checkConnection(): Promise<boolean> {
  running ??= probe().finally(() => {
    running = undefined;
  });
  return running;
}

async function probe(): Promise<boolean> {
  // One single request may fail for other reasons. Any response will do, but a proxy's.
  const isThere = await fetch('/api/session', {
    method: 'HEAD',
    cache: 'no-store',
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).then(
    ({ status }) => ![502, 503, 504].includes(status),
    () => false,
  );
  if (isThere && connection.isLost) change({ isLost: false, returns: connection.returns + 1 });
  if (!isThere && !connection.isLost) change({ ...connection, isLost: true });
  if (!isThere) setTimeout(() => void checkConnection(), RETRY_MS);
  return isThere;
}

/** Runs once the server can be reached. */
export async function whenConnected(then: () => void): Promise<void> {
  if (await checkConnection()) return then();
  const stop = onConnection(() => {
    if (connection.isLost) return;
    stop();
    then();
  });
}

/** @returns a function that removes the listener */
export function onConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function currentConnection(): Connection {
  return connection;
}
