import { z } from 'zod';
import type { ErrorCode } from '#base/errors.ts';
import { actorOn } from '#core/callers.ts';
import { keepPreviewAlive, listPreviews, stopPreview } from '#core/previews/live-previews.ts';
import { checkStartPage } from '#core/pages/check-preview.ts';
import type { PageResult } from '#core/pages/page-cause.ts';
import type { Actor } from '#core/runs/timeline.ts';
import type { Preview, Readiness } from '#core/previews/preview-plane.ts';
import { type StartedPreview, startPreview } from '#core/previews/start-preview.ts';
import { startAgentPreview } from '#core/previews/start-agent-preview.ts';
import { awaitApp } from '#core/processes/await-app.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { HttpResponse } from '../http/http-event.ts';
import { PORT_MESSAGE, portNumber } from '../http/read-input.ts';
import { ALIAS, ID_PATTERN, json } from '../route.ts';
import { checkpointAtApproval } from '../sandboxes/checkpoint-triggers.ts';
import { defineRunRoute, RunPath } from '../runs/run-routes.ts';
import type { Services } from '../services.ts';
import { PageResultDto, toPageResultDto } from '../pages/page-dto.ts';

// POST …/preview is for agents, and asks a person first. POST …/port-forward is for owners.
const PREVIEW = '/api/runs/{id}/sandbox/preview';
const PORT_FORWARD = '/api/runs/{id}/sandbox/port-forward';

export const keepAliveRoute = defineRunRoute('keepPreviewAlive', 'POST', `${PREVIEW}/{token}/keepalive`, {
  shared: { run: 'view' },
  tag: 'Previews',
  summary: 'Keep a preview alive',
  description:
    'Moves its expiry one idle window on, never past its maximum lifetime, and counts as use of the sandbox.',
  agents: true,
  channel: true,
  params: RunPath.extend({
    token: z.string().max(200).meta({ pattern: ID_PATTERN }).describe('`session_id` of the preview'),
  }),
  responses: {
    200: {
      description: 'Kept alive',
      schema: z
        .object({ token: z.string(), kept_alive: z.literal(true), expires_at: z.iso.datetime().nullable() })
        .meta({ id: 'KeptAlive' }),
    },
  },
  errors: ['preview_not_found', 'preview_not_enabled', 'preview_expired'],
  async handle({ params, caller, signal }, run, services) {
    const kept = await keepPreviewAlive(
      services,
      { run, token: params.token, by: actorOn(run, caller) },
      signal,
    );
    return json(200, {
      token: kept.token,
      kept_alive: true,
      expires_at: kept.expiresAt?.toISOString() ?? null,
    });
  },
});

/** `PortForwardSessionDto` of the preview reference, with our additions. */
export const PreviewDto = z
  .object({
    session_id: z.string().describe('The capability token; names the preview when it is stopped'),
    local_port: z
      .number()
      .int()
      .describe(
        'Loopback port of a legacy session, to be opened as `http://preview-{local_port}.localhost:{local_port}`; 0 for a preview with a URL',
      ),
    target_port: z.number().int(),
    pod_name: z.string(),
    started_at: z.iso.datetime(),
    preview_url: z.string().nullable(),
    previewUrl: z
      .string()
      .nullable()
      .meta({ [ALIAS]: true }),
    keepalive_url: z.string().nullable().describe('Ping it about every 60 s while the preview is open'),
    keepaliveUrl: z
      .string()
      .nullable()
      .meta({ [ALIAS]: true }),
    expires_at: z.iso.datetime().nullable().describe('When it ends unless it is kept alive'),
    max_until: z.iso.datetime().nullable().describe('When it ends at the latest'),
    reason: z.enum(['sandbox_stopped']).optional().describe('Why it shows nothing at present'),
  })
  .meta({ id: 'PortForwardSession' });

/** The response to a start also has the app's readiness. */
export const StartedPreviewDto = PreviewDto.extend({
  ready: z.boolean(),
  reason: z
    .enum([
      'nothing_listens',
      'not_http',
      'starting',
      'sandbox_stopped',
      'gateway_untrusted',
      'gateway_unreachable',
      'server_failed',
    ])
    .optional()
    .describe(
      'Why it is not ready. `not_http`: the server speaks TLS or another protocol; `gateway_untrusted`: TLS from Porthole to the gateway fails; `gateway_unreachable`: the gateway accepts no connection. `server_failed`: the declared server of the port ended or was not ready in time',
    ),
  problem: z
    .string()
    .optional()
    .describe('With `gateway_untrusted` and `gateway_unreachable`: what is wrong, and the setting to change'),
  server: z.string().optional().describe('With `server_failed`: its name'),
  log: z.array(z.string()).readonly().optional().describe('With `server_failed`: what it printed last'),
  page: PageResultDto.optional().describe(
    'With `check`: what a browser sees at `/`; absent if the app is not ready or no browser is installed',
  ),
}).meta({ id: 'StartedPortForwardSession' });

function toPreviewDto(preview: Preview): z.infer<typeof PreviewDto> {
  const keepalive =
    preview.url === null ? null : `/api/runs/${preview.runId}/sandbox/preview/${preview.token}/keepalive`;
  return {
    session_id: preview.token,
    local_port: preview.localPort,
    target_port: preview.targetPort,
    pod_name: preview.podName,
    started_at: preview.startedAt.toISOString(),
    preview_url: preview.url,
    previewUrl: preview.url,
    keepalive_url: keepalive,
    keepaliveUrl: keepalive,
    expires_at: preview.url === null ? null : (preview.expiresAt?.toISOString() ?? null),
    max_until: preview.url === null ? null : (preview.maxUntil?.toISOString() ?? null),
  };
}

/** With the state of its sandbox. */
export function toListedPreviewDto(
  preview: Preview,
  sandbox: Pick<SandboxRecord, 'desired'> | undefined,
): z.infer<typeof PreviewDto> {
  const isStopped = sandbox?.desired === 'stopped';
  return { ...toPreviewDto(preview), ...(isStopped && { reason: 'sandbox_stopped' as const }) };
}

export function toStartedPreviewDto(
  preview: Preview,
  readiness: Readiness,
  page?: PageResult,
): z.infer<typeof StartedPreviewDto> {
  return { ...toPreviewDto(preview), ...readiness, ...(page && { page: toPageResultDto(page) }) };
}

/** Waits for the app of a started preview and, if requested, for a check of its page. */
export async function awaitStarted(
  services: Services,
  started: StartedPreview,
  { run, by, check }: { readonly run: RunRecord; readonly by?: Actor | undefined; readonly check: boolean },
  signal?: AbortSignal,
): Promise<{ readonly readiness: Readiness; readonly page: PageResult | undefined }> {
  const readiness = await awaitApp(services, started, signal);
  const port = started.preview.targetPort;
  const page =
    check && readiness.ready ? await checkStartPage(services, { run, port, by }, signal) : undefined;
  return { readiness, page };
}

const listPortForwardsRoute = defineRunRoute('listPortForwards', 'GET', PORT_FORWARD, {
  shared: { run: 'view' },
  tag: 'Previews',
  summary: "List a run's live previews",
  description:
    'Previews and legacy sessions alike, oldest first. Those of a stopped sandbox stay until their expiry, and say so.',
  agents: true,
  channel: true,
  responses: { 200: { description: 'The live previews', schema: z.array(PreviewDto) } },
  async handle({ signal }, run, services) {
    const live = await listPreviews(services, run, signal);
    const sandbox = await services.records.sandboxes.get(run.sandboxId);
    return json(
      200,
      live.map((preview) => toListedPreviewDto(preview, sandbox)),
    );
  },
});

/** `{target_port}`, or the legacy spelling `{targetPort}`; never both. */
const StartPreviewBody = z
  .strictObject({
    target_port: portNumber.optional().describe('Port inside the sandbox'),
    targetPort: portNumber.optional().meta({ [ALIAS]: true }),
    rotate: z.boolean().default(false).describe('Revoke the current URL of the port and open a new one'),
    check: z
      .boolean()
      .default(false)
      .describe('Once the app answers, wait for a check of its page at `/` in a browser: `page`'),
  })
  .meta({ id: 'StartPreviewRequest', required: ['target_port'] })
  .transform(({ target_port, targetPort, rotate, check }, context) => {
    const chosen = target_port ?? targetPort;
    if (chosen === undefined || (target_port !== undefined && targetPort !== undefined)) {
      context.addIssue({
        code: 'custom',
        path: ['target_port'],
        message: chosen === undefined ? PORT_MESSAGE : 'send either target_port or targetPort, not both',
      });
      return z.NEVER;
    }
    return { targetPort: chosen, rotate, check };
  });

const START_ERRORS: readonly ErrorCode[] = [
  'port_out_of_range',
  'run_ended',
  'no_bound_sandbox',
  'preview_conflict',
  'too_many_previews',
  'quota_exceeded',
];

async function startedAnswer(...of: Parameters<typeof awaitStarted>): Promise<HttpResponse> {
  const { readiness, page } = await awaitStarted(...of);
  return json(200, toStartedPreviewDto(of[1].preview, readiness, page));
}

export const startPortForwardRoute = defineRunRoute('startPortForward', 'POST', PORT_FORWARD, {
  shared: { run: 'work' },
  tag: 'Previews',
  summary: 'Start a preview',
  description:
    'Opens the preview of a port, or returns the live one with its expiry moved. For the owner of the run, also once it has completed, unless `Sandbox__Preview__KeepAfterRun` is false.',
  body: StartPreviewBody,
  responses: { 200: { description: 'The live preview', schema: StartedPreviewDto } },
  errors: START_ERRORS,
  async handle({ body, caller, signal }, run, services) {
    const { check, ...start } = body;
    const asked = { run, by: actorOn(run, caller) };
    const started = await startPreview(services, { ...asked, ...start }, signal);
    return startedAnswer(services, started, { ...asked, check }, signal);
  },
});

const startAgentPreviewRoute = defineRunRoute('startAgentPreview', 'POST', PREVIEW, {
  tag: 'Previews',
  summary: 'Start a preview on behalf of the agent',
  description:
    "For the run's owner or its own agent. Unless something has approved it beforehand, a person is asked (`tool.approval_required` on the run's timeline), and the answer waits for " +
    'the decision, five minutes at most. If the connection is lost, send the same request again: it is still pending. A caller that disconnects withdraws it.',
  class: 'stream',
  agents: true,
  channel: true,
  body: StartPreviewBody,
  responses: { 200: { description: 'The live preview', schema: StartedPreviewDto } },
  errors: [...START_ERRORS, 'approval_denied', 'approval_timed_out', 'too_many_approvals'],
  async handle({ body, caller, signal }, run, services) {
    const { check, ...start } = body;
    const asked = { run, by: actorOn(run, caller) };
    const started = await startAgentPreview(
      services,
      { ...asked, ...start },
      { signal, onWaiting: () => checkpointAtApproval(services, asked.run.sandboxId) },
    );
    return startedAnswer(services, started, { ...asked, check }, signal);
  },
});

export const stopPreviewRoute = defineRunRoute('stopPortForward', 'DELETE', `${PORT_FORWARD}/{sessionId}`, {
  shared: { run: 'work' },
  tag: 'Previews',
  summary: 'Stop a preview',
  description: 'Its URL is revoked for good: the next start of the port gets a new one.',
  agents: true,
  channel: true,
  params: RunPath.extend({
    sessionId: z.string().max(200).meta({ pattern: ID_PATTERN }).describe('`session_id` of the preview'),
  }),
  responses: {
    200: {
      description: 'Stopped',
      schema: z.object({ session_id: z.string(), stopped: z.literal(true) }).meta({ id: 'StoppedSession' }),
    },
  },
  errors: ['preview_not_found'],
  async handle({ params, caller, signal }, run, services) {
    await stopPreview(services, { run, token: params.sessionId, by: actorOn(run, caller) }, signal);
    return json(200, { session_id: params.sessionId, stopped: true });
  },
});

export const portForwardRoutes = [
  startPortForwardRoute,
  listPortForwardsRoute,
  keepAliveRoute,
  stopPreviewRoute,
  startAgentPreviewRoute,
];
