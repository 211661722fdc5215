import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { type AccessDeps, accessOf } from './preview-access.ts';
import type { Preview, PreviewPlane } from './preview-plane.ts';
import { isDefaultAccess } from './start-preview.ts';

export interface AttachPreviewsDeps {
  readonly plane: PreviewPlane;
  readonly records: AccessDeps['records'];
  readonly previewSettings: AccessDeps['previewSettings'];
}

/**
 * Attaches the previews of a sandbox that runs to the gateway, and detaches those of one that does
 * not: their visitors then come to the page that starts it. Idempotent; what a crash leaves,
 * `reconcileAttachment` mends.
 */
export async function attachPreviews(
  deps: AttachPreviewsDeps,
  sandboxId: string,
  isRunning: boolean,
  signal?: AbortSignal,
): Promise<void> {
  if (deps.plane.setAttached === undefined) return;
  for await (const preview of deps.plane.list({ sandboxId }, signal)) {
    await attachPreview(deps, preview, isRunning, signal);
  }
}

/**
 * The same for the previews of a sandbox that a pass has read before its record: also for a sandbox
 * that died.
 */
export async function reconcileAttachment(
  deps: AttachPreviewsDeps & { readonly sandboxes: Pick<Sandboxes, 'inspect'> },
  { id, desired }: Pick<SandboxRecord, 'id' | 'desired'>,
  previews: readonly Preview[],
  signal?: AbortSignal,
): Promise<void> {
  if (deps.plane.setAttached === undefined || previews.length === 0) return;
  const state = desired === 'stopped' ? desired : (await deps.sandboxes.inspect(id, signal)).state;
  if (state === 'creating') return;
  for (const preview of previews) await attachPreview(deps, preview, state === 'running', signal);
}

async function attachPreview(
  deps: AttachPreviewsDeps,
  preview: Preview,
  isRunning: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { plane } = deps;
  if (isRunning !== (preview.isDetached === true)) return;
  // The guest remembers the access before the stop.
  const access = isRunning ? await accessOf(deps, preview) : undefined;
  if (access !== undefined && !isDefaultAccess(access)) await plane.setAccess(preview, access, signal);
  await plane.setAttached?.(preview, isRunning, signal);
}
