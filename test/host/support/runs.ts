import type { Answer, Call, TestHost } from '#test/support/in-process-host.ts';

/** The target of calls: a host in this process, or in a separate one. */
export interface Callable {
  call(method: string, path: string, call?: Call): Promise<Answer>;
}

export interface MadeRun {
  readonly runId: string;
  readonly sandboxId: string;
  readonly agentToken: string;
}

/** Creates a run, as `token` if given. */
export async function makeRun(
  porthole: Callable,
  token?: string,
  body: Readonly<Record<string, unknown>> = {},
): Promise<MadeRun> {
  const answer = await porthole.call('POST', '/api/runs', { body, ...as(token) });
  if (answer.status !== 201) throw new Error(`no run: ${answer.status} ${answer.text}`);
  const { run_id, sandbox_id, agent_token } = answer.json<Record<string, string>>();
  return { runId: run_id ?? '', sandboxId: sandbox_id ?? '', agentToken: agent_token ?? '' };
}

/** The preview in the API's format. */
export interface StartedPreview {
  readonly session_id: string;
  readonly local_port: number;
  readonly target_port: number;
  readonly pod_name: string;
  readonly started_at: string;
  readonly preview_url: string | null;
  readonly keepalive_url: string | null;
  readonly expires_at: string | null;
  readonly max_until: string | null;
  readonly ready: boolean;
  readonly reason?: string;
}

/** Starts a preview; fails on an error. */
export async function startPreview(
  porthole: Callable,
  runId: string,
  targetPort: number,
  token?: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<StartedPreview> {
  const answer = await porthole.call('POST', `/api/runs/${runId}/sandbox/port-forward`, {
    body: { target_port: targetPort, ...more },
    ...as(token),
  });
  if (answer.status !== 200) throw new Error(`no preview: ${answer.status} ${answer.text}`);
  return answer.json<StartedPreview>();
}

/** The response of a preview's URL to a program. */
export function visit(porthole: Callable, session: string, port: number, path = '/'): Promise<Answer> {
  return porthole.call('GET', path, { host: `${session}-preview.localhost:${port}` });
}

/** `[status, code]`, the essence of most refusals. */
export function outcome(answer: Answer): [number, unknown] {
  return [answer.status, answer.json<{ code?: unknown }>().code];
}

export function as(token: string | undefined): { token?: string } {
  return token === undefined ? {} : { token };
}

/** Stops a sandbox explicitly: a crashed one would be revived by its next command. */
export async function stopSandbox({ host }: TestHost, id: string): Promise<void> {
  await host.services.records.sandboxes.setDesired(id, 'stopped');
  await host.services.sandboxes.stop(id);
}
