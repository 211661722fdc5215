import { LABELS, labelValue } from '#constructs/names.ts';
import type { PreviewStore } from './preview-store.ts';
import type { StoredService } from './stored-objects.ts';
import { isOurs } from './read-preview.ts';

/**
 * Selects the previews of one run or of one owner by that label alone: the API server compares
 * every term with the labels of every object.
 */
export function memberSelector(of: 'runId' | 'owner', value: string): string {
  return `${of === 'runId' ? LABELS.run : LABELS.owner}=${labelValue(value)}`;
}

/**
 * The Services that a `memberSelector` selects, as they were when the one of that version was
 * written or, a little, later.
 */
export async function memberServices(
  { client, services }: PreviewStore,
  labelSelector: string,
  notOlderThan: string | undefined,
  signal?: AbortSignal,
): Promise<readonly StoredService[]> {
  const found: StoredService[] = [];
  for await (const service of client.list<StoredService>(
    services,
    { labelSelector, metadataOnly: true, notOlderThan },
    signal,
  )) {
    if (isOurs(service)) found.push(service);
  }
  return found;
}
