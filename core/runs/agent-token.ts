import type { Tokens } from '../auth/authenticator.ts';
import { PortholeError } from '../errors.ts';
import { implicitRunId } from '../previews/tunnels.ts';
import type { Channel } from '../processes/guest.ts';
import { changedProvider } from '../sandboxes/provider-layers.ts';
import type { SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import type { Records } from '../shared/records.ts';
import { AGENT_FOLDER, agentAccess } from './find-run.ts';
import { PORTHOLE_COMMAND } from './porthole-command.ts';
import type { RunRecord } from './run-records.ts';

/** An agent's token dies with its run, and after this long at the latest. */
const AGENT_TOKEN_HOURS = 24;

/**
 * The token of a run's agent: at any time the same, as long as the signing key is.
 * @param inside whether it is the one that is put into the sandbox, which is good only for calls
 * from there
 */
export function agentTokenOf(
  tokens: Tokens,
  run: Pick<RunRecord, 'id' | 'createdAt'>,
  inside: boolean,
): Promise<string> {
  const expiresAt = new Date(run.createdAt.getTime() + AGENT_TOKEN_HOURS * 3_600_000);
  return tokens.signAgent({ runId: run.id, expiresAt, inside });
}

export interface ProvisionRunsDeps {
  readonly records: Pick<Records, 'runs' | 'sandboxes'>;
  readonly provider: Pick<SandboxProvider, 'exec'>;
  readonly tokens: Tokens;
  readonly channel: Channel;
}

/** Runs of one sandbox that are introduced, the newest. */
const MOST_RUNS = 32;

/** Longest time that a run's start waits for it, in milliseconds. */
const WITHIN_MS = 10_000;

/**
 * Takes the command as its argument, and on its stdin a block for each run: `run <id>`, the lines
 * of its access file, and an empty line; or just `over <id>`. The command is copied in unless the
 * sandbox has one: each guest brings it, and an image may. Others may be doing the same: each file
 * is put in place whole.
 */
const SCRIPT = `
umask 077
folder=$HOME/${AGENT_FOLDER}
mkdir -p "$folder/runs" "$folder/bin" || exit 73
new=$folder/new.$$
while read -r word id; do
  case $word in
    run)
      while IFS= read -r line && [ -n "$line" ]; do printf '%s\\n' "$line"; done >"$new" || exit 73
      mv -f "$new" "$folder/runs/$id" || exit 73 ;;
    over) rm -f "$folder/runs/$id" ;;
  esac
done
command=$folder/bin/porthole
found=$(command -v porthole)
[ -z "$found" ] || [ "$found" = "$command" ] || exit 0
printf '%s' "$1" >"$new" && chmod 700 "$new" && mv -f "$new" "$command" || exit 73
`;

/**
 * Makes the running runs of a sandbox known inside it, where the `porthole` command finds them:
 * each with its token in a file that only the sandbox's user may read. Those that have completed
 * are forgotten. May be repeated at any time, and has to be after each start of the sandbox: the
 * files are lost with its processes.
 * @throws PortholeError `exec_transport_error` where they cannot be written, and what `exec`
 * refuses
 */
export async function provisionRuns(
  { records, provider, tokens, channel }: ProvisionRunsDeps,
  sandboxId: string,
  signal?: AbortSignal,
): Promise<void> {
  const ids = await records.runs.inSandbox(sandboxId);
  if (ids.length === 0) return;
  const address = await channel.address(sandboxId);
  if (address === undefined) return;
  const sandbox = await records.sandboxes.get(sandboxId);
  const tunnels = sandbox && implicitRunId(sandbox);
  const known = await Promise.all(ids.slice(-MOST_RUNS).map((id) => records.runs.get(id)));
  const blocks = known.map(async (run) => {
    // Nobody works in the run of the tunnels: its URLs are not the sandbox's to see, or to stop.
    if (run === undefined || run.id === tunnels) return '';
    if (run.status !== 'running') return `over ${run.id}\n`;
    const agentToken = await agentTokenOf(tokens, run, true);
    return `run ${run.id}\n${agentAccess({ runId: run.id, agentToken, address })}\n`;
  });
  const input = (await Promise.all(blocks)).join('');
  const limit = AbortSignal.timeout(WITHIN_MS);
  const process = await provider.exec(
    sandboxId,
    { argv: ['sh', '-c', SCRIPT, 'sh', PORTHOLE_COMMAND], cwd: '/', stdin: true },
    signal === undefined ? limit : AbortSignal.any([signal, limit]),
  );
  process.stdout.resume();
  process.stderr.resume();
  process.stdin?.end(input);
  const { code, signal: killed } = await process.exited;
  if (code === 0) return;
  throw new PortholeError(
    'exec_transport_error',
    `Sandbox ${sandboxId}: its runs could not be introduced (exit ${code ?? killed}). Its home folder must be writable.`,
  );
}

/**
 * Introduces the runs of a sandbox in it. Never rejects: a run does its work without the `porthole`
 * command, too.
 */
export type ProvisionAccess = (sandboxId: string, signal?: AbortSignal) => Promise<void>;

/**
 * A provider that introduces a sandbox's runs anew when it starts again: what lay in its memory is
 * gone.
 */
export function provisioningProvider(
  provider: SandboxProvider,
  provisionAccess: ProvisionAccess,
): SandboxProvider {
  return changedProvider(provider, {
    async resume(id, signal) {
      await provider.resume(id, signal);
      await provisionAccess(id, signal);
    },
  });
}
