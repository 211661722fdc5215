import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import type { HttpEvent } from '#handlers/http/http-event.ts';
import { makeFunction, type PortholeFunction } from '#handlers/make-function.ts';
import {
  keepAliveRoute,
  startPortForwardRoute,
  stopPreviewRoute,
} from '#handlers/previews/preview-routes.ts';
import type { Services } from '#handlers/services.ts';
import { createAgentRun, RUN, SERVICE_KEY } from '../agent-run.ts';
import type { FixturePlane } from './preview-fixture.ts';

/** Start, keepalive and stop, complete: credential, input, run, cluster, response. */
export interface PreviewFunctions {
  /** @returns the preview's token */
  start(): Promise<string>;
  keepAlive(token: string): Promise<void>;
  stop(token: string): Promise<void>;
  close(): Promise<void>;
}

const PORT = 3000;

export async function previewFunctions({
  plane,
  previewSettings,
  provider,
}: FixturePlane): Promise<PreviewFunctions> {
  const { services: ofRun } = await createAgentRun();
  const services = {
    ...ofRun,
    plane,
    previewSettings,
    sandboxes: provider,
    quotas: NO_QUOTAS,
  } as unknown as Services;
  const start = makeFunction(startPortForwardRoute, services);
  const keepAlive = makeFunction(keepAliveRoute, services);
  const stop = makeFunction(stopPreviewRoute, services);
  return {
    async start() {
      const answer = await invoke(start, 'POST', {}, JSON.stringify({ target_port: PORT }));
      return (JSON.parse(answer) as { session_id: string }).session_id;
    },
    async keepAlive(token) {
      await invoke(keepAlive, 'POST', { token });
    },
    async stop(token) {
      await invoke(stop, 'DELETE', { sessionId: token });
    },
    close: () => ofRun.records.close(),
  };
}

async function invoke(
  fn: PortholeFunction,
  method: string,
  params: Readonly<Record<string, string>>,
  body?: string,
): Promise<string> {
  const event: HttpEvent = {
    rawPath: '/',
    rawQueryString: '',
    headers: { authorization: `Bearer ${SERVICE_KEY}`, 'content-type': 'application/json', host: 'bench' },
    pathParameters: { id: RUN, ...params },
    requestContext: { http: { method } },
    body,
  };
  const answer = await fn(event);
  const text = typeof answer.body === 'string' ? answer.body : '';
  if (answer.statusCode !== 200) throw new Error(`${method}: ${answer.statusCode} ${text}`);
  return text;
}
