import type { HttpClient } from './http-client.ts';

/** Filters of the lists of runs and sandboxes; they are combined. */
export interface ListFilter {
  /** Text that a name or an id contains. */
  readonly search?: string | undefined;
  /** User name of the owner; useful for admins. */
  readonly owner?: string | undefined;
  /** Name of the sandbox's image, or `default`. */
  readonly image?: string | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
}

/** The query parameters of a filter. */
export function filterQuery(filter: ListFilter): Readonly<Record<string, string | undefined>> {
  const { search, owner, image, createdAfter, createdBefore } = filter;
  return {
    query: search,
    owner,
    image,
    created_after: createdAfter?.toISOString(),
    created_before: createdBefore?.toISOString(),
  };
}

/**
 * The items of a paginated list of the API.
 * @param field the name of the items in a page
 */
export async function* pages<T>(
  http: HttpClient,
  path: string,
  field: string,
  query: Readonly<Record<string, string | number | undefined>>,
  signal?: AbortSignal,
): AsyncGenerator<T, void> {
  let after: string | undefined;
  do {
    const page = await http.json<Readonly<Record<string, unknown>>>(`GET ${path}`, {
      query: { ...query, after },
      signal,
    });
    yield* (page[field] ?? []) as readonly T[];
    after = typeof page['next'] === 'string' ? page['next'] : undefined;
  } while (after !== undefined);
}
