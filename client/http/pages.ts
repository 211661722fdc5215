import type { HttpClient } from './http-client.ts';

/**
 * The items of a list of the API, page by page.
 * @param field the name under which a page has its items
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
