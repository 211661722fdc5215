import type { HttpClient } from './http-client.ts';

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
    const page = await http.json<Readonly<Record<string, unknown>>>({
      path,
      query: { ...query, after },
      signal,
    });
    yield* (page[field] ?? []) as readonly T[];
    after = typeof page['next'] === 'string' ? page['next'] : undefined;
  } while (after !== undefined);
}
