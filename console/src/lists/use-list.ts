import { useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { serverNow } from '../live/clock.ts';
import { checkConnection } from '../live/connection.ts';
import { SessionContext } from '../live/session-state.ts';
import { problemOf, useConnection, useVisible } from '../live/use-live.ts';
import { usePlace } from '../sandboxes/use-place.ts';
import { useSelection } from './bulk-actions.tsx';
import { filterOf, type ListKind } from './list-filters.tsx';

/** Page size of requests, and how many rows "Show more" adds. */
const PAGE = 200;
/** Rows at first. */
const FIRST = 50;
/** Poll interval; longer for longer lists. */
const POLL_MS = 5_000;

export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
  /** How many match; only of a first page. */
  readonly total: number | null;
}

interface PageQuery {
  readonly limit: number;
  readonly after?: string;
  readonly count?: 'true';
}

interface List<Item> {
  /** Undefined until the first answer; those of the last filter until the next answer. */
  readonly items: readonly Item[] | undefined;
  /** How many match. */
  readonly total: number;
  /** More match than were requested. */
  readonly hasMore: boolean;
  readonly problem: string | undefined;
  readonly reload: () => void;
}

/** A list with its filter, which is in the address, and its selected rows. */
export function useFilteredList<Item, Filter extends object>(
  kind: ListKind,
  read: (query: Filter & PageQuery, signal: AbortSignal) => Promise<ListPage<Item>>,
  idOf: (item: Item) => string,
) {
  const [place, go] = usePlace();
  const [wanted, setWanted] = useState(FIRST);
  const { query, isFiltered } = filterOf(place, kind, serverNow());
  const list = useList(read, idOf, query as Filter, wanted);
  const items = list.items ?? [];
  const selection = useSelection(items.map(idOf));
  return {
    ...list,
    filters: { ...kind, place, go },
    isFiltered,
    selection,
    selected: items.filter((item) => selection.ids.has(idOf(item))),
    deselect: () => selection.select([...selection.ids], false),
    showMore: () => setWanted((before) => before + PAGE),
  };
}

/** The first matches of a filter, up to `wanted`, polled while the page is visible. */
function useList<Item, Filter extends object>(
  read: (query: Filter & PageQuery, signal: AbortSignal) => Promise<ListPage<Item>>,
  idOf: (item: Item) => string,
  filter: Filter,
  wanted: number,
): List<Item> {
  const [state, setState] = useState<Omit<List<Item>, 'reload'>>({
    items: undefined,
    total: 0,
    hasMore: false,
    problem: undefined,
  });
  const [asked, setAsked] = useState(0);
  const visible = useVisible();
  const { over, count } = useContext(SessionContext);
  const { returns } = useConnection();
  const latest = useRef(read);
  latest.current = read;
  const key = JSON.stringify(filter);
  useEffect(() => {
    if (!visible || over) return undefined;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const found = await firstMatches(latest.current, JSON.parse(key) as Filter, wanted, ended.signal);
        setState({ ...found, problem: undefined });
      } catch (error) {
        // A lost connection is shown once, by the frame of the page.
        const isOurs = error instanceof ApiError || (await checkConnection());
        if (ended.signal.aborted) return;
        if (isOurs) setState((before) => ({ ...before, problem: problemOf(error) }));
      }
      if (!ended.signal.aborted) timer = setTimeout(() => void look(), POLL_MS * Math.ceil(wanted / PAGE));
    };
    void look();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key, wanted, asked, visible, over, count, returns]);
  const reload = useCallback(() => setAsked((before) => before + 1), []);
  // By id: one created between two pages shifts the later ones.
  const items = useMemo(
    () => state.items && [...new Map(state.items.map((item) => [idOf(item), item])).values()],
    [state.items, idOf],
  );
  return { ...state, items, reload };
}

async function firstMatches<Item, Filter extends object>(
  read: (query: Filter & PageQuery, signal: AbortSignal) => Promise<ListPage<Item>>,
  filter: Filter,
  wanted: number,
  signal: AbortSignal,
): Promise<{ readonly items: readonly Item[]; readonly total: number; readonly hasMore: boolean }> {
  const items: Item[] = [];
  let total = 0;
  let after: string | undefined;
  do {
    const limit = Math.min(PAGE, wanted - items.length);
    const position = after === undefined ? ({ count: 'true' } as const) : { after };
    const page = await read({ ...filter, limit, ...position }, signal);
    items.push(...page.items);
    total = page.total ?? total;
    after = page.next ?? undefined;
  } while (after !== undefined && items.length < wanted);
  return { items, total, hasMore: after !== undefined };
}
