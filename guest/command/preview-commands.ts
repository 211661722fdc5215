/** The commands of `porthole` about previews. */
import { call, NO_ANSWER, readAccess, request, type Answer } from './host-calls.ts';
import { CommandError, EXIT } from './guest-calls.ts';

/** The fields of the API's `PortForwardSession` that are read. */
interface Preview {
  readonly session_id: string;
  readonly target_port: number;
  readonly local_port: number;
  readonly preview_url: string | null;
}

interface StartedPreview extends Preview {
  readonly ready: boolean;
  readonly reason?: string;
  readonly server?: string;
  readonly log?: readonly string[];
  readonly problem?: string;
}

interface Diagnosis {
  readonly advice: string;
  readonly ports: readonly { readonly ready: boolean; readonly advice: string }[];
}

export async function startPreview(env: NodeJS.ProcessEnv, port: number): Promise<number> {
  const access = readAccess(env);
  const preview = await call<StartedPreview>(access, 'POST', 'sandbox/preview', { target_port: port });
  process.stdout.write(`${addressOf(preview)}\n`);
  if (preview.ready) return EXIT.done;
  const { reason, server, log, problem } = preview;
  if (reason === 'server_failed' && server !== undefined) {
    const lines = (log ?? []).map((line) => `${line}\n`).join('');
    process.stderr.write(
      `porthole: the preview is live, but server ${server} failed. It printed last:\n${lines}`,
    );
    return EXIT.done;
  }
  if (problem !== undefined) {
    process.stderr.write(
      `porthole: the preview is live, but Porthole cannot see whether it works. ${problem}\n`,
    );
    return EXIT.done;
  }
  const { status, body } = await request(access, 'GET', `sandbox/doctor?port=${port}`).catch(
    (): Answer => NO_ANSWER,
  );
  const advice = status === 200 ? ` ${adviceOf(body as Diagnosis)}` : '';
  process.stderr.write(`porthole: the preview is live, but does not show the server yet.${advice}\n`);
  return EXIT.done;
}

export async function stopPreview(env: NodeJS.ProcessEnv, port: number): Promise<number> {
  const access = readAccess(env);
  const previews = await call<Preview[]>(access, 'GET', 'sandbox/port-forward');
  const found = previews.find(({ target_port }) => target_port === port);
  if (found === undefined) {
    throw new CommandError(
      EXIT.failed,
      `port ${port} has no live preview. To stop its server, use its name: porthole ps lists it.`,
    );
  }
  await call(access, 'DELETE', `sandbox/port-forward/${encodeURIComponent(found.session_id)}`);
  process.stdout.write(`The preview of port ${port} is stopped.\n`);
  return EXIT.done;
}

export async function previewStatus(env: NodeJS.ProcessEnv): Promise<number> {
  const previews = await call<Preview[]>(readAccess(env), 'GET', 'sandbox/port-forward');
  for (const preview of previews) process.stdout.write(`${preview.target_port} ${addressOf(preview)}\n`);
  return EXIT.done;
}

export async function previewDoctor(env: NodeJS.ProcessEnv, port: number): Promise<number> {
  const found = await call<Diagnosis>(readAccess(env), 'GET', `sandbox/doctor?port=${port}&check=true`);
  process.stdout.write(`${adviceOf(found)}\n`);
  return found.ports.some(({ ready }) => ready) ? EXIT.done : EXIT.failed;
}

/** `ports` contains only the requested port. */
function adviceOf({ advice, ports }: Diagnosis): string {
  return ports[0]?.advice ?? advice;
}

function addressOf({ preview_url, local_port }: Preview): string {
  return preview_url ?? `http://preview-${local_port}.localhost:${local_port}/`;
}
