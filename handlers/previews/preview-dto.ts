import { z } from 'zod';
import type { SandboxRecord } from '#core/ports/sandbox-records.ts';
import type { Preview, Readiness } from '#core/ports/preview-plane.ts';

/** `PortForwardSessionDto` of the preview reference, and what we add to it. */
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
    previewUrl: z.string().nullable(),
    keepalive_url: z.string().nullable().describe('Ping it about every 60 s while somebody watches'),
    keepaliveUrl: z.string().nullable(),
    expires_at: z.iso.datetime().nullable().describe('When it ends unless it is kept alive'),
    max_until: z.iso.datetime().nullable().describe('When it ends whatever happens'),
    reason: z.enum(['sandbox_stopped']).optional().describe('Why it shows nothing until that changes'),
  })
  .meta({ id: 'PortForwardSession' });

/** The answer to a start also says whether the app answers yet. */
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
      'Why it is not ready. `not_http`: the server speaks TLS or another protocol; `gateway_untrusted`: TLS from Porthole to the gateway fails; `gateway_unreachable`: the gateway accepts no connection. The log has the reason of both. `server_failed`: the declared server of the port ended or was not ready in time',
    ),
  server: z.string().optional().describe('With `server_failed`: its name'),
  log: z.array(z.string()).readonly().optional().describe('With `server_failed`: what it printed last'),
}).meta({ id: 'StartedPortForwardSession' });

export function toPreviewDto(preview: Preview): z.infer<typeof PreviewDto> {
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

/** With what its sandbox says of it. */
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
): z.infer<typeof StartedPreviewDto> {
  return { ...toPreviewDto(preview), ...readiness };
}
