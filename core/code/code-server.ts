import { singleFlight } from '#base/concurrency.ts';
import { PortholeError } from '#base/errors.ts';
import { CODE_COMMAND, CODE_PORT } from '#protocol/guest/code-protocol.ts';
import { type GuestDeps, startInGuest } from '../processes/reach-guest.ts';
import { type PortsRef, portReaches } from '../processes/sandbox-ports.ts';
import { putServer } from '../processes/sandbox-processes.ts';
import type { GuestAnswer, GuestCall, Sandboxes } from '../sandboxes/sandbox-provider.ts';

/** The name of the declared server. */
const NAME = 'code-interpreter';
/** A busy machine may need half a minute to read Python's packages. */
const STARTS_WITHIN = 60_000;

/**
 * Asks the code interpreter of a sandbox, and starts it if it does not run. A stopped sandbox is
 * resumed.
 * @throws PortholeError `code_interpreter_missing`, `exec_transport_error`
 */
export async function callCodeServer(
  deps: GuestDeps,
  ref: PortsRef,
  call: Omit<GuestCall, 'port'>,
): Promise<GuestAnswer> {
  const ask = () => deps.sandboxes.callGuest(ref.sandboxId, { ...call, port: CODE_PORT }, ref.signal);
  return startInGuest(deps, ref.caller, ref.sandboxId, async () => {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof PortholeError) || error.code !== 'nothing_listens') throw error;
    }
    await startCodeServer(deps, ref);
    return ask();
  });
}

/** @throws PortholeError `code_interpreter_missing`, `server_exists`, `wait_timed_out` */
export function startCodeServer(deps: GuestDeps, { caller, sandboxId }: PortsRef): Promise<void> {
  // Without the signal of one caller: others wait for the same start.
  return singleFlight(deps.sandboxes, `code interpreter of ${sandboxId}`, async () => {
    await checkInstalled(deps.sandboxes, sandboxId);
    const ref = { caller, sandboxId, kind: 'servers', id: NAME } as const;
    const { server } = await putServer(deps, ref, {
      argv: [...CODE_COMMAND],
      port: CODE_PORT,
      restart: 'always',
      readiness: { http: '/health', timeout_ms: STARTS_WITHIN },
    });
    if (server.state === 'ready') return;
    const wait = { port: CODE_PORT, state: 'listening', timeoutMs: STARTS_WITHIN } as const;
    await portReaches(deps.guests.of(sandboxId), wait);
  });
}

/** @throws PortholeError `code_interpreter_missing` */
async function checkInstalled(sandboxes: Pick<Sandboxes, 'exec'>, sandboxId: string): Promise<void> {
  const [python] = CODE_COMMAND;
  const check = await sandboxes.exec(sandboxId, { argv: [python, '-c', 'import jupyter_client, ipykernel'] });
  check.stdout.resume();
  check.stderr.resume();
  const { code } = await check.exited;
  if (code === 0) return;
  throw new PortholeError(
    'code_interpreter_missing',
    `Sandbox ${sandboxId} has no code interpreter: ${python} is missing, or has no jupyter_client and ipykernel`,
    {
      remedy:
        'On one machine, run `npm run code:install` where Porthole is installed. Elsewhere, create the sandbox with the image code-interpreter, or with one that has its /opt/code-interpreter.',
    },
  );
}
