import { type ReactNode, useEffect, useState } from 'react';
import { serverNow } from '../live/clock.ts';
import { usePerson } from '../live/person.ts';
import { useAttempt, usePolled } from '../live/use-live.ts';
import { Button, Empty, Pending, Problem } from '../parts/elements.tsx';
import { usePlace } from '../sandboxes/use-place.ts';
import { type BulkAction, BulkActions, type Selection, useSelection } from './bulk-actions.tsx';
import { filterOf, ListFilters, type ListKind, NO_FILTER } from './list-filters.tsx';

/** Page size of requests, and how many rows "Show more" adds. */
const PAGE = 200;
/** Rows at first. */
const FIRST = 50;
/** The API counts up to here. */
const MAX_TOTAL = 10_000;
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

type ReadPage<Item, Filter> = (query: Filter & PageQuery, signal: AbortSignal) => Promise<ListPage<Item>>;

/** The items, each id once: the first of equal ones. */
function uniqueBy<Item>(items: readonly Item[], idOf: (item: Item) => string): readonly Item[] {
  const ids = new Set<string>();
  return items.filter((item) => ids.size < ids.add(idOf(item)).size);
}

/**
 * A list with its filter, which is in the address, and its selected rows: the first matches, polled
 * while the page is visible.
 */
export function useFilteredList<Item, Filter extends object>(
  kind: ListKind,
  read: ReadPage<Item, Filter>,
  idOf: (item: Item) => string,
) {
  const [place, go] = usePlace();
  const [wanted, setWanted] = useState(FIRST);
  const { query, isFiltered } = filterOf(place, kind, serverNow());
  const { value, problem, reload } = usePolled(
    (signal) => firstMatches(read, query as Filter, wanted, signal),
    JSON.stringify([query, wanted]),
    POLL_MS * Math.ceil(wanted / PAGE),
  );
  // One created between two pages shifts the later ones.
  const items = value && uniqueBy(value.items, idOf);
  const selection = useSelection((items ?? []).map(idOf));
  return {
    kind,
    ...value,
    items,
    problem,
    reload,
    filters: { place, go },
    isFiltered,
    selection,
    selected: (items ?? []).filter((item) => selection.ids.has(idOf(item))),
    showMore: () => setWanted((before) => before + PAGE),
  };
}

async function firstMatches<Item, Filter extends object>(
  read: ReadPage<Item, Filter>,
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

interface FilteredListProps<Item> {
  readonly list: ReturnType<typeof useFilteredList<Item, object>>;
  /** Singular and plural. */
  readonly nouns: readonly [one: string, many: string];
  readonly nameOf: (item: Item) => string;
  readonly actions: readonly BulkAction<Item>[];
  /** In place of an empty list without a filter. */
  readonly first?: ReactNode;
  /** The table. */
  readonly children: (items: readonly Item[], selection: Selection) => ReactNode;
}

/** The filters of a list, what can be done with its selected rows, and the list. */
export function FilteredList<Item>({
  list,
  nouns,
  nameOf,
  actions,
  first,
  children,
}: FilteredListProps<Item>) {
  // Admins see what others own.
  const { admin } = usePerson();
  const { kind, items, total = 0, hasMore = false, problem, reload, filters, isFiltered, selection } = list;
  const [one, many] = nouns;
  const all = `${total.toLocaleString()}${total >= MAX_TOTAL ? '+' : ''} ${total === 1 ? one : many}`;
  return (
    <>
      <ListFilters {...kind} {...filters} isShared={kind.isShared === true && !admin} hasOwners={admin} />
      {items === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {items === undefined ? (
        <Pending words={problem} onRetry={reload} />
      ) : items.length === 0 && !isFiltered ? (
        first
      ) : (
        <>
          <BulkActions
            items={list.selected}
            nouns={nouns}
            nameOf={nameOf}
            actions={actions}
            onClear={() => selection.select([...selection.ids], false)}
            onChange={reload}
          />
          {items.length === 0 ? (
            <Empty title={`No ${one} matches`}>
              <Button onPress={() => filters.go(NO_FILTER)}>Show all</Button>
            </Empty>
          ) : (
            children(items, selection)
          )}
          <div className="tools">
            <p className="quiet" role="status">
              {hasMore ? `${items.length.toLocaleString()} of ${all} shown` : all}
            </p>
            {hasMore ? <Button onPress={list.showMore}>Show more</Button> : null}
          </div>
        </>
      )}
    </>
  );
}

type OlderPage<Item> = Pick<ListPage<Item>, 'items' | 'next'>;

/**
 * The newest items of a list, polled, and read again when `seen` changes; older ones on request.
 * @param read reads the page after a position; undefined: the newest
 */
export function useOlderPages<Item>(
  read: (after?: string) => Promise<OlderPage<Item>>,
  idOf: (item: Item) => string,
  seen: string,
  everyMs: (items: readonly Item[]) => number | undefined = () => undefined,
) {
  const [list, setList] = useState<OlderPage<Item>>();
  const newest = usePolled(() => read(), seen, everyMs(list?.items ?? []));
  const { problem, attempt, retry } = useAttempt();
  useEffect(() => {
    const { value: page } = newest;
    if (page === undefined) return;
    // Reading the newest page again does not change the cursor of the older pages, unless there are
    // others between them.
    setList((before) => {
      const known = new Set(before?.items.map(idOf));
      const meets = page.next === null || page.items.some((item) => known.has(idOf(item)));
      return before === undefined || !meets
        ? page
        : { items: uniqueBy([...page.items, ...before.items], idOf), next: before.next };
    });
  }, [newest.value]);
  const next = list?.next ?? undefined;
  const showOlder = () =>
    void attempt(async () => {
      const page = await read(next);
      setList((before) => ({ ...page, items: uniqueBy([...(before?.items ?? []), ...page.items], idOf) }));
    });
  return {
    items: list?.items,
    problem: newest.problem ?? problem,
    reload: problem === undefined ? newest.reload : retry,
    /** Undefined: there are no older ones. */
    showOlder: next === undefined ? undefined : showOlder,
  };
}
