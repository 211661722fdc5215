import { LABELS, labelValue } from '#constructs/names.ts';
import type { PreviewStore } from './preview-store.ts';
import type { StoredService } from './stored-objects.ts';
import { isOurs } from './read-preview.ts';

/** The Services of a run's previews, as they were when the one of that version was written or, a little, later. */
export async function runServices(
  { client, services }: PreviewStore,
  runId: string,
  notOlderThan: string | undefined,
  signal?: AbortSignal,
): Promise<readonly StoredService[]> {
  // By the run alone: the API server compares the labels of every Service of the namespace with every term.
  const labelSelector = `${LABELS.run}=${labelValue(runId)}`;
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
