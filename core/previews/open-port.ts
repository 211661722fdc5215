import { OPEN_ACCESS } from '#protocol/preview-access.ts';
import { singleFlight } from '#base/concurrency.ts';
import { isSameText } from '#base/same-text.ts';
import type { Tokens } from '../auth/authenticator.ts';
import type { GuessLimit } from '../auth/guess-limit.ts';
import { endTimedOut } from '../sandboxes/end-timed-out.ts';
import type { EndSandboxDeps } from '../sandboxes/end-sandbox.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { KnownPreview } from './asleep-previews.ts';
import { implicitRun, type ImplicitRunDeps, implicitRunId } from './implicit-run.ts';
import type { SandboxPort } from './port-host.ts';
import { previewName } from './preview-token.ts';
import { startPreview, type StartPreviewDeps } from './start-preview.ts';

type PortDeps = StartPreviewDeps & ImplicitRunDeps;

export type OpenPortDeps = PortDeps &
  EndSandboxDeps & {
    readonly tokens: Pick<Tokens, 'traffic'>;
    readonly guesses: GuessLimit;
  };

/**
 * Opens the preview of a port for a program that has the traffic token of the sandbox. Does nothing
 * for any other: the gateway answers as if there were no such sandbox. Starts no sandbox.
 * @throws PortholeError what `startPreview` throws
 */
export async function openPort(
  deps: OpenPortDeps,
  { sandboxId, targetPort }: SandboxPort,
  { token, address }: { readonly token: string; readonly address: string },
): Promise<void> {
  const { records, tokens, guesses } = deps;
  const guess = `${sandboxId} ${token}`;
  if (guesses.blockedFor(address, guess) > 0) return;
  const found = await records.sandboxes.get(sandboxId);
  if (found === undefined || !isSameText(token, tokens.traffic(found))) return guesses.wrong(address, guess);
  await singleFlight(records.access, `port ${targetPort} of ${sandboxId}`, async () => {
    const sandbox = await endTimedOut(deps, found);
    if (sandbox === undefined || sandbox.desired === 'destroyed') return;
    const run = await runOfPort(deps, sandbox, targetPort);
    await startPreview(deps, { run, targetPort, by: 'traffic' });
  });
}

/**
 * The run of a port's preview. The host of a port can be guessed, so the port is for its owner
 * unless someone has set a level before.
 */
async function runOfPort(deps: PortDeps, sandbox: SandboxRecord, targetPort: number) {
  const run = await implicitRun(deps, sandbox);
  await deps.records.access.change(
    run.id,
    targetPort,
    (known) => known ?? { ...OPEN_ACCESS, level: 'owner', password: null },
  );
  return run;
}

/** The preview of a port of a sandbox, which its owner may use for the first time. */
export async function newPortPreview(
  deps: PortDeps,
  sandbox: SandboxRecord,
  targetPort: number,
): Promise<KnownPreview> {
  const run = await runOfPort(deps, sandbox, targetPort);
  const generation = await deps.records.previews.generation(run.id, targetPort);
  const token = deps.tokens.preview(run.tokenKid, run.id, targetPort, generation);
  return { name: previewName(token), token, runId: run.id, sandboxId: sandbox.id, targetPort };
}

/** The token of the preview of a port; undefined if the port never had one. */
export async function tokenOfPort(
  { records, tokens }: Pick<PortDeps, 'records' | 'tokens'>,
  sandbox: SandboxRecord,
  targetPort: number,
): Promise<string | undefined> {
  const run = await records.runs.get(implicitRunId(sandbox));
  if (run === undefined) return undefined;
  const generation = await records.previews.generation(run.id, targetPort);
  return tokens.preview(run.tokenKid, run.id, targetPort, generation);
}
