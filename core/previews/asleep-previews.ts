import type { Tokens } from '../auth/authenticator.ts';
import type { Records } from '../records.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { PreviewOptions } from './preview-limits.ts';
import type { Preview } from './preview-plane.ts';
import { previewName, tokenSha256 } from './preview-token.ts';

/** The preview of a port, whether it is served or not. */
export type KnownPreview = Pick<Preview, 'name' | 'token' | 'runId' | 'sandboxId' | 'targetPort'>;

export interface FindAsleepDeps {
  readonly records: Pick<Records, 'previews' | 'runs' | 'sandboxes'>;
  readonly tokens: Pick<Tokens, 'preview'>;
  readonly previewSettings: Pick<PreviewOptions, 'keepAfterRun'>;
}

/**
 * A preview that ended because no one used it, and that a visitor may start again at the same URL:
 * its sandbox exists, running or stopped, and its URL was not revoked.
 * @param by its token, or the name of its objects
 */
export async function findAsleep(
  { records, tokens, previewSettings }: FindAsleepDeps,
  by: { readonly token: string } | { readonly name: string },
): Promise<KnownPreview | undefined> {
  const tombstone =
    'token' in by
      ? await records.previews.tombstone(tokenSha256(by.token))
      : await records.previews.tombstoneNamed(by.name.slice(by.name.indexOf('-') + 1));
  if (tombstone?.targetPort === undefined) return undefined;
  const { runId, targetPort, reason } = tombstone;
  const run = await records.runs.get(runId);
  if (run === undefined || (run.status === 'completed' && !previewSettings.keepAfterRun)) return undefined;
  const [sandbox, generation] = await Promise.all([
    records.sandboxes.get(run.sandboxId),
    records.previews.generation(runId, targetPort),
  ]);
  if (sandbox === undefined || !isOf(run, sandbox)) return undefined;
  // What has reached its maximum lifetime in a running sandbox, its owner starts again.
  if (reason !== 'expired' && !(reason === 'max_lifetime' && sandbox.desired === 'stopped')) return undefined;
  const token = tokens.preview(run.tokenKid, runId, targetPort, generation);
  if (tokenSha256(token) !== tombstone.tokenSha256) return undefined;
  return { name: previewName(token), token, runId, sandboxId: run.sandboxId, targetPort };
}

/** False for a sandbox that got the id of the run's own one after that was deleted. */
function isOf({ createdAt }: RunRecord, sandbox: SandboxRecord): boolean {
  return sandbox.desired !== 'destroyed' && sandbox.createdAt <= createdAt;
}
