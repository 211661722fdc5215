import type { Collection, Call, KubernetesObject } from './kubernetes-object.ts';
import { isReason } from './kubernetes-error.ts';

export interface ListQuery {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Objects per page. @default 500 */
  readonly limit?: number;
  /**
   * Returns data at least as new as this `resourceVersion` of the listed type, from the API
   * server's cache. Without it, the API server first makes the cache consistent, which takes up to
   * 100 ms while other types are written. A list with it is one page.
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

/** A list that expires more often fails. */
const MAX_RESTARTS = 10;

/**
 * Yields every object of a list once, page by page. An expired `continue` token is replaced by the
 * one that the server offers. Without one, the list restarts and skips objects already seen: only
 * objects created meanwhile may be missed.
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
      // The empty string restarts the list; undefined would end it.
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
