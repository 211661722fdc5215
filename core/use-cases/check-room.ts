import { PortholeError } from '../errors.ts';
import type { PreviewPlane } from '../ports/preview-plane.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { tooManyPreviews } from './settle-opened-preview.ts';

export interface CheckRoomDeps {
  readonly plane: PreviewPlane;
  readonly preview: PreviewOptions;
}

/**
 * Whether a preview under the token would find room, as things stand: said before a person is asked. Whoever opens is judged again, in the order of opening.
 * @throws PortholeError `too_many_previews`
 */
export async function checkRoom(
  { plane, preview: options }: CheckRoomDeps,
  { runId, token }: { readonly runId: string; readonly token: string },
  signal?: AbortSignal,
): Promise<void> {
  const count = async (most: number, filter: { readonly runId?: string }) => {
    let others = 0;
    for await (const preview of plane.list(filter, signal)) {
      if (preview.token !== token) others += 1;
      if (others === most) break;
    }
    return others;
  };
  if ((await count(options.maxPerRun, { runId })) >= options.maxPerRun) throw tooManyPreviews(runId, options);
  if ((await count(options.maxTotal, {})) >= options.maxTotal) {
    throw new PortholeError(
      'too_many_previews',
      `All ${options.maxTotal} previews that may live at once are taken: stop one first.`,
    );
  }
}
