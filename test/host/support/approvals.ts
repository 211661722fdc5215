import { request } from 'node:http';
import type { Answer } from '#test/support/in-process-host.ts';
import { as, type Callable } from './runs.ts';

export interface TimelineEvent {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** All events of a run's timeline. */
export async function readTimeline(
  porthole: Callable,
  runId: string,
  token?: string,
): Promise<TimelineEvent[]> {
  const answer = await porthole.call('GET', `/api/runs/${runId}/timeline?limit=1000`, as(token));
  if (answer.status !== 200) throw new Error(`no timeline: ${answer.status} ${answer.text}`);
  return answer.json<{ events: TimelineEvent[] }>().events;
}

/** The requests in a run's timeline, once there are this many. */
export async function approvalsAsked(
  porthole: Callable,
  runId: string,
  { count = 1, token }: { readonly count?: number; readonly token?: string | undefined } = {},
): Promise<TimelineEvent[]> {
  for (;;) {
    const events = await readTimeline(porthole, runId, token);
    const asked = events.filter(({ type }) => type === 'tool.approval_required');
    if (asked.length >= count) return asked;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function askForPreview(
  porthole: Callable,
  runId: string,
  token?: string,
  body: Readonly<Record<string, unknown>> = { target_port: 3000 },
): Promise<Answer> {
  return porthole.call('POST', `/api/runs/${runId}/sandbox/preview`, { body, ...as(token) });
}

export function decide(
  porthole: Callable,
  runId: string,
  body: Readonly<Record<string, unknown>>,
  token?: string,
): Promise<Answer> {
  return porthole.call('POST', `/api/runs/${runId}/tool-approvals`, { body, ...as(token) });
}

/** Asks, and can disconnect during the call. */
export function askAndLeave(
  port: number,
  runId: string,
  token: string | undefined,
  targetPort: number,
): { leave(): void } {
  const body = JSON.stringify({ target_port: targetPort });
  const outgoing = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path: `/api/runs/${runId}/sandbox/preview`,
    agent: false,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  });
  // The abort is intended.
  outgoing.on('error', () => undefined);
  outgoing.end(body);
  return { leave: () => outgoing.destroy() };
}
