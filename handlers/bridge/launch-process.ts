import { PortholeError } from '#base/errors.ts';
import {
  followOutput,
  removeStarted,
  type StartedRef,
  startProcess,
} from '#core/processes/sandbox-processes.ts';
import type { PortsRef } from '#core/processes/sandbox-ports.ts';
import type { ProcessInfo, ProcessRequest } from '#protocol/guest/processes-protocol.ts';
import { checkRunnable } from '../processes/process-routes.ts';
import { toRunnable } from '../processes/process-dto.ts';
import type { Services } from '../services.ts';

interface Launch extends Pick<ProcessRequest, 'tty' | 'timeout_ms' | 'output_bytes'> {
  readonly argv: readonly string[];
  readonly cwd?: string | null | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** @throws PortholeError `exec_error` for a program that cannot be started, which leaves nothing */
export async function launchProcess(
  services: Services,
  at: PortsRef,
  { cwd, ...request }: Launch,
): Promise<ProcessInfo> {
  checkRunnable(at.caller, request);
  const runnable = toRunnable({ ...request, cwd: cwd ?? undefined });
  const started = await startProcess(services, at, runnable as Parameters<typeof startProcess>[2]);
  if (started.exit === null || started.last_pid !== null) return started;
  const ref: StartedRef<'processes'> = { ...at, kind: 'processes', id: started.id };
  const why = await reasonOf(services, ref);
  await removeStarted(services, ref);
  throw new PortholeError('exec_error', `process launch failed: ${why}`);
}

/** The guest writes it to stderr, as a shell does. */
async function reasonOf(services: Services, ref: StartedRef<'processes'>): Promise<string> {
  const pieces: string[] = [];
  for await (const event of await followOutput(services, ref, { follow: false })) {
    if (event?.event === 'stderr') pieces.push(Buffer.from(event.data, 'base64').toString());
  }
  return pieces.join('').trim();
}
