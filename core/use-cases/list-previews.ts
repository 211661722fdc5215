import type { Preview, PreviewPlane } from '../ports/preview-plane.ts';
import type { RunRecord } from '../ports/run-records.ts';

/** The live previews of a run, oldest first. */
export async function listPreviews(
  { plane }: { readonly plane: PreviewPlane },
  run: RunRecord,
  signal?: AbortSignal,
): Promise<readonly Preview[]> {
  const live: Preview[] = [];
  for await (const preview of plane.list({ runId: run.id }, signal)) live.push(preview);
  return live.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || a.targetPort - b.targetPort);
}
