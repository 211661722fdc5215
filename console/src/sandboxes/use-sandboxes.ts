import { useCallback, useContext, useEffect, useState } from 'react';
import { type Answer, call, type CallInput } from '../api/client.ts';
import { SessionContext } from '../live/session-state.ts';
import { problemOf, useVisible } from '../live/use-live.ts';

export type Sandbox = Answer<'GET /v1/sandbox'>['sandboxes'][number];
export type SandboxFilter = Omit<NonNullable<CallInput<'GET /v1/sandbox'>['query']>, 'limit' | 'after'>;

/** The API's maximum page size. */
const MOST_OF_PAGE = 200;
/** Poll interval; longer for longer lists. */
const POLL_MS = 5_000;

export interface Sandboxes {
  readonly sandboxes: readonly Sandbox[] | undefined;
  /** More exist than were requested. */
  readonly hasMore: boolean;
  readonly problem: string | undefined;
  readonly reload: () => void;
}

/** The newest sandboxes of a filter, up to a limit, polled while the page is visible. */
export function useSandboxes(filter: SandboxFilter, wanted: number): Sandboxes {
  const [state, setState] = useState<Omit<Sandboxes, 'reload'>>({
    sandboxes: undefined,
    hasMore: false,
    problem: undefined,
  });
  const [asked, setAsked] = useState(0);
  const visible = useVisible();
  const { over, count } = useContext(SessionContext);
  const key = JSON.stringify(filter);
  useEffect(() => {
    if (!visible || over) return undefined;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const found = await newest(JSON.parse(key) as SandboxFilter, wanted, ended.signal);
        setState({ ...found, problem: undefined });
      } catch (error) {
        if (ended.signal.aborted) return;
        setState((before) => ({ ...before, problem: problemOf(error) }));
      }
      if (!ended.signal.aborted) {
        timer = setTimeout(() => void look(), POLL_MS * Math.ceil(wanted / MOST_OF_PAGE));
      }
    };
    void look();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key, wanted, asked, visible, over, count]);
  const reload = useCallback(() => setAsked((before) => before + 1), []);
  return { ...state, reload };
}

async function newest(
  filter: SandboxFilter,
  wanted: number,
  signal: AbortSignal,
): Promise<{ readonly sandboxes: readonly Sandbox[]; readonly hasMore: boolean }> {
  // By id: a sandbox created between two pages shifts the later ones.
  const found = new Map<string, Sandbox>();
  let after: string | undefined;
  do {
    const limit = Math.min(MOST_OF_PAGE, wanted - found.size);
    const query = { ...filter, limit, ...(after === undefined ? {} : { after }) };
    const page = await call('GET /v1/sandbox', { query, signal });
    for (const each of page.sandboxes) found.set(each.id, each);
    after = page.next ?? undefined;
  } while (after !== undefined && found.size < wanted);
  return { sandboxes: [...found.values()], hasMore: after !== undefined };
}
