import type { Collection, Call, KubernetesObject } from './kubernetes-object.ts';
import { isReason } from './kubernetes-error.ts';

export interface ListQuery {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Objects a page; 500 where it is not said. */
  readonly limit?: number;
  /**
   * A `resourceVersion` of the listed type that must be taken account of, where what came after it
   * need not be: the API server answers out of its memory, at once. Otherwise it first makes sure
   * that it knows of everything, for which it waits up to 100 ms where other types are written to.
   * Such a list is one page.
   */
  readonly notOlderThan?: string | undefined;
  /** Without `spec` and `status`. */
  readonly metadataOnly?: boolean;
}

interface Page<T> {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly T[] | null;
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** A list that expires this often before it ends is given up. */
const MAX_RESTARTS = 10;

/**
 * Every object of a list, page by page, each once. A `continue` that has expired is taken up where
 * the server offers to, else from the start: what was seen is left out then, so a reader may miss
 * what was made meanwhile, and nothing else.
 */
export async function* listPages<T extends KubernetesObject>(
  send: (call: Call) => Promise<Page<T>>,
  from: Collection,
  { labelSelector, fieldSelector, limit = 500, metadataOnly = false, notOlderThan }: ListQuery,
): AsyncGenerator<T, void, undefined> {
  const seen = new Set<string>();
  let restarts = 0;
  let next: string | undefined;
  do {
    const query = new URLSearchParams(
      notOlderThan === undefined
        ? { limit: String(limit) }
        : { resourceVersion: notOlderThan, resourceVersionMatch: 'NotOlderThan' },
    );
    if (labelSelector !== undefined) query.set('labelSelector', labelSelector);
    if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector);
    if (next !== undefined) query.set('continue', next);
    let page: Page<T>;
    try {
      page = await send({
        method: 'GET',
        path: `${from.path}?${query.toString()}`,
        what: `list ${from.plural}`,
        repetition: { inDoubt: true, conflict: true },
        ...(metadataOnly && { accept: METADATA_ONLY }),
      });
    } catch (error) {
      if (next === undefined || !isReason(error, 'Expired', 'Gone') || restarts === MAX_RESTARTS) throw error;
      restarts += 1;
      next = error.continueAt;
      // Not to be taken for the end of the list.
      if (next === undefined) next = '';
      continue;
    }
    next = page.metadata.continue || undefined;
    for (const item of page.items ?? []) {
      if (seen.has(item.metadata.uid)) continue;
      if (next !== undefined || restarts > 0) seen.add(item.metadata.uid);
      yield item;
    }
  } while (next !== undefined);
}
