import { PortholeError } from '../errors.ts';
import type { PreviewFilter, PreviewPlane } from '../ports/preview-plane.ts';
import type { RunRecord } from '../ports/run-records.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { countExceeded, quotaOf, type Quotas } from '../rules/quotas.ts';
import { tooManyPreviews } from './enforce-caps.ts';

export interface CheckRoomDeps {
  readonly plane: PreviewPlane;
  readonly preview: PreviewOptions;
  readonly quotas: Quotas;
}

/**
 * Whether a preview under the token would find room, as things stand: said before a person is asked. Whoever opens is judged again, in the order of opening.
 * @throws PortholeError `too_many_previews`, `quota_exceeded`
 */
export async function checkRoom(
  { plane, preview: options, quotas }: CheckRoomDeps,
  { run, token }: { readonly run: RunRecord; readonly token: string },
  signal?: AbortSignal,
): Promise<void> {
  const count = async (most: number, filter: PreviewFilter) => {
    let others = 0;
    for await (const preview of plane.list(filter, signal)) {
      if (preview.token !== token) others += 1;
      if (others === most) break;
    }
    return others;
  };
  if ((await count(options.maxPerRun, { runId: run.id })) >= options.maxPerRun) {
    throw tooManyPreviews(run.id, options);
  }
  const { previews: most } = quotaOf(quotas, run.owner);
  if (most != null && (await count(most, { owner: run.owner.user })) >= most) {
    throw countExceeded('previews', most);
  }
  if ((await count(options.maxTotal, {})) >= options.maxTotal) {
    throw new PortholeError(
      'too_many_previews',
      `All ${options.maxTotal} previews that may live at once are taken: stop one first.`,
    );
  }
}
