import { PortholeError } from '#base/errors.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { AccessLevel } from '#protocol/preview-access.ts';
import type { Tokens } from '../auth/authenticator.ts';
import type { Records } from '../records.ts';
import { checkGivenName } from './name-rules.ts';
import type { GivenName, NamedPort } from './name-store.ts';
import { type PreviewOptions, zoneOf } from './preview-limits.ts';

export interface NameDeps {
  readonly records: Pick<Records, 'previewNames' | 'runs'>;
  readonly clock: Clock;
  readonly previewSettings: Pick<PreviewOptions, 'zones' | 'zoneSuffix' | 'maxNamesPerOwner'>;
}

/** The name of a port; undefined also for a name of a zone that its previews have left. */
export async function givenNameOf(
  { records, previewSettings }: Pick<NameDeps, 'records' | 'previewSettings'>,
  port: NamedPort,
): Promise<GivenName | undefined> {
  const given = await records.previewNames.of(port);
  if (given === undefined) return undefined;
  // Without further zones it is the common one, without a read.
  const run = previewSettings.zones.length === 0 ? undefined : await records.runs.get(port.runId);
  return given.zone === zoneOf(previewSettings, run?.owner.org ?? '') ? given : undefined;
}

/**
 * Gives the preview of a port a name, or takes it from it (null).
 * @param level that the preview has from now on
 * @throws PortholeError `invalid_request` for a name that is refused, `conflict`, `quota_exceeded`
 */
export async function changeName(
  { records, clock, previewSettings }: NameDeps,
  { runId, targetPort }: NamedPort,
  name: string | null,
  level: AccessLevel,
): Promise<void> {
  if (name === null) return records.previewNames.release({ runId, targetPort }, clock.now());
  if (level === 'link') {
    throw new PortholeError(
      'invalid_request',
      'name: a preview at the level link has none, because everyone who guesses it could open the preview',
      { remedy: 'choose a stricter level, such as signed_in.' },
    );
  }
  checkGivenName(name);
  const run = await records.runs.get(runId);
  if (run === undefined) throw new PortholeError('preview_not_found', 'You have no such preview');
  const { owner } = run;
  const most = previewSettings.maxNamesPerOwner;
  const claim = { zone: zoneOf(previewSettings, owner.org), name, runId, targetPort, owner };
  const claimed = await records.previewNames.claim(claim, clock.now(), most);
  if (claimed === 'taken') {
    throw new PortholeError('conflict', `name: ${name} is taken`, { remedy: 'choose another name.' });
  }
  if (claimed === 'too_many') {
    throw new PortholeError('quota_exceeded', `The owner has ${most} names of previews, the maximum`, {
      remedy: 'use one again, or wait: a name counts for 30 days after it was given back.',
    });
  }
}

/**
 * The token of the preview that has the name.
 * @returns undefined if no preview has it. The caller checks that the preview exists, and its level
 */
export async function tokenOfName(
  {
    records,
    tokens,
  }: {
    readonly records: Pick<Records, 'previewNames' | 'runs' | 'previews'>;
    readonly tokens: Pick<Tokens, 'preview'>;
  },
  name: GivenName,
): Promise<string | undefined> {
  const port = await records.previewNames.find(name);
  if (port === undefined) return undefined;
  const [run, generation] = await Promise.all([
    records.runs.get(port.runId),
    records.previews.generation(port.runId, port.targetPort),
  ]);
  return run && tokens.preview(run.tokenKid, run.id, port.targetPort, generation);
}
