import type { Page, PageRequest } from '../ports/page.ts';

const PAGE = 500;

/** What a list holds, in its order; a page is asked for once what came before it has been dealt with. */
export async function* everyItem<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  let after: string | undefined;
  do {
    const page = await list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    yield* page.items;
    after = page.next ?? undefined;
  } while (after !== undefined);
}
