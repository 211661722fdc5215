import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { type Answer, ApiError, ask, call, type CallInput, type Route } from '../api/client.ts';
import type { ServerSentEvent } from '../../../client/streams/sse-parser.ts';
import { followEvents } from './browser-event-stream.ts';
import { serverNow } from './clock.ts';
import { checkConnection, type Connection, currentConnection, onConnection } from './connection.ts';

/** State of the user's session. */
export interface SessionState {
  /** It has ended: no requests until the next sign-in. */
  readonly over: boolean;
  /** Changes after each sign-in: streams and requests start again. */
  readonly count: number;
}

export const SessionContext = createContext<SessionState>({ over: false, count: 0 });

/** The server's time, updated every second. */
export function useNow(): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Listens on the window while the component is mounted. */
export function useWindowEvent<K extends keyof WindowEventMap>(
  types: K | readonly K[],
  onEvent: (event: WindowEventMap[K]) => void,
  { capture = false }: { readonly capture?: boolean } = {},
): void {
  const latest = useEffectEvent(onEvent);
  useEffect(() => {
    const ended = new AbortController();
    for (const type of [types].flat() as K[])
      addEventListener(type, (event) => latest(event), { capture, signal: ended.signal });
    return () => ended.abort();
    // The types never change.
  }, [capture]);
}

/** Whether the page is visible. */
export function useVisible(): boolean {
  return useSyncExternalStore(onVisibility, () => document.visibilityState === 'visible');
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(onConnection, currentConnection);
}

/**
 * Follows a stream while the page is visible: browsers limit connections, which all tabs share.
 * @param address null: no stream
 * @param hiddenTurn of all hidden tabs with the same name, one keeps following
 * @returns whether it is connected, and whether it should be: hidden tabs should not
 */
export function useEvents(
  address: string | null,
  onEvent: (event: ServerSentEvent) => void,
  hiddenTurn?: string,
) {
  const [live, setLive] = useState(false);
  const visible = useVisible();
  const isTurn = useHiddenTurn(hiddenTurn, visible);
  const { over, count } = useContext(SessionContext);
  const { returns } = useConnection();
  const following = (visible || isTurn) && !over && address !== null;
  const listener = useEffectEvent(onEvent);
  const known = useRef({ address, id: '' });
  if (known.current.address !== address) known.current = { address, id: '' };
  useEffect(() => {
    if (!following || address === null) return undefined;
    const ended = new AbortController();
    void followEvents(address, {
      fetch: ask,
      after: known.current.id,
      onEvent: (event) => {
        known.current.id = event.id;
        listener(event);
      },
      onState: setLive,
      signal: ended.signal,
    });
    return () => {
      ended.abort();
      setLive(false);
    };
  }, [address, following, count, returns]);
  return { live, following };
}

/**
 * Whether this hidden tab has its turn: the first one of a name, until it becomes visible or is
 * closed. On plain http, browsers have no locks and no tab gets a turn.
 */
function useHiddenTurn(name: string | undefined, visible: boolean): boolean {
  const [mine, setMine] = useState(false);
  useEffect(() => {
    if (visible || name === undefined || !('locks' in navigator)) return undefined;
    const over = new AbortController();
    const hold = () =>
      new Promise<void>((resolve) => {
        over.signal.addEventListener('abort', () => resolve());
        setMine(true);
      });
    navigator.locks.request(name, { signal: over.signal }, hold).catch(() => undefined);
    return () => {
      over.abort();
      setMine(false);
    };
  }, [name, visible]);
  return mine;
}

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly problem: string | undefined;
  /** The API responded with 404. */
  readonly missing: boolean;
  readonly reload: () => void;
}

/** The history of a run arrives in hundreds of pieces: each must not cause its own requests. */
const SETTLE_MS = 500;

/** The last value: at once after a pause, and otherwise once in `SETTLE_MS`. */
function useThrottled<T>(value: T): T {
  const [shown, setShown] = useState(value);
  const changed = useRef(Date.now());
  useEffect(() => {
    if (value === shown) return undefined;
    const rest = Math.max(0, changed.current + SETTLE_MS - Date.now());
    const timer = setTimeout(() => {
      changed.current = Date.now();
      setShown(value);
    }, rest);
    return () => clearTimeout(timer);
  }, [value, shown]);
  return shown;
}

/**
 * Polls a route every `everyMs` while the page is visible, whenever `seen` changes, and when the
 * server can be reached again. Null: no request.
 */
export function useAnswer<R extends Route>(
  route: R,
  input: CallInput<R> | null = {},
  everyMs?: number,
  seen?: string,
): Loaded<Answer<R>> {
  const settled = useThrottled(seen);
  const key = input === null ? undefined : `${route} ${JSON.stringify(input)} ${settled}`;
  return usePolled((signal) => call(route, { ...input, signal }), key, everyMs);
}

/**
 * Asks whenever the key changes, and again every `everyMs`, while the page is visible, and when the
 * server can be reached again.
 * @param key undefined: it does not ask
 * @param retryMs after a failure
 */
export function usePolled<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  key: string | undefined,
  everyMs?: number,
  retryMs = everyMs,
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: undefined,
    problem: undefined,
    missing: false,
  });
  const [asked, setAsked] = useState(0);
  const visible = useVisible();
  const { over, count } = useContext(SessionContext);
  const { isLost, returns } = useConnection();
  const latest = useEffectEvent(ask);
  useEffect(() => {
    if (key === undefined || !visible || over) return undefined;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      let next = everyMs;
      try {
        const value = await latest(ended.signal);
        if (!ended.signal.aborted) setState({ value, problem: undefined, missing: false });
      } catch (error) {
        if (ended.signal.aborted) return;
        const missing = error instanceof ApiError && (error.status === 404 || error.status === 403);
        // A lost connection is shown once, by the frame of the page.
        if (!(error instanceof ApiError) && !(await checkConnection())) return;
        if (ended.signal.aborted) return;
        setState((before) => ({ ...before, problem: problemOf(error), missing }));
        next = retryMs;
      }
      if (next !== undefined && !ended.signal.aborted) timer = setTimeout(() => void look(), next);
    };
    void look();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key, asked, visible, everyMs, retryMs, over, count, returns]);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  return { ...state, problem: isLost ? undefined : state.problem, reload };
}

/**
 * The state of a user's action: running, or failed with a problem that is shown until the next
 * attempt. `retry` runs the last work again.
 * @param wordsOf message for an error; undefined: shown elsewhere. @default the API's message
 */
export function useAttempt(wordsOf: (error: unknown) => string | undefined = actionProblemOf) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const last = useRef<() => Promise<unknown>>(undefined);
  const attempt = async (work: () => Promise<unknown>) => {
    last.current = work;
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) await checkConnection();
      setProblem(wordsOf(error));
    } finally {
      setBusy(false);
    }
  };
  const retry = () => {
    if (last.current !== undefined) void attempt(last.current);
  };
  return { busy, problem, setProblem, attempt, retry };
}

/**
 * The message of a failed action, which is not repeated by itself. The frame of the page shows that
 * the connection is lost.
 */
export function actionProblemOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return currentConnection().isLost ? 'That failed. Try again.' : 'Can’t reach Porthole. Try again.';
}

/** The message of an error for the user. */
export function problemOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return 'Can’t reach Porthole. Retrying…';
}
