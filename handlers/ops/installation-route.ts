import { z } from 'zod';
import { defineRoute, json, VERSION } from '../route.ts';

const InstallationDto = z
  .object({
    version: z.string(),
    provider: z.string().describe('The provider of sandboxes'),
    sandboxes: z
      .string()
      .nullable()
      .describe('How it isolates sandboxes, and where they run; null for callers who are no admins'),
    warnings: z.array(z.string()).describe('As in `GET /health`'),
    limits: z.object({
      idle_minutes: z.number().describe('A sandbox without activity for this long is stopped'),
      retention_hours: z.number().describe('A sandbox that is stopped for this long is deleted'),
      running_sandboxes: z.number().nullable().describe('Of all people together; null: any number'),
      file_mib: z.number().describe('The largest file of one upload'),
    }),
    previews: z
      .object({
        port_min: z.number(),
        port_max: z.number(),
        idle_minutes: z.number().describe('A preview without visitors for this long ends'),
        lifetime_hours: z.number().describe('A preview ends after this long in any case'),
        per_run: z.number(),
        total: z.number().describe('Of all people together'),
      })
      .nullable()
      .describe('null: previews have no URLs here'),
    sign_in: z.enum(['none', 'keys', 'oidc', 'keys_and_oidc']).describe('How callers identify themselves'),
    docs_url: z.string().nullable(),
    feedback_url: z.string().nullable(),
  })
  .meta({ id: 'Installation' });

export const installationRoute = defineRoute('getInstallation', 'GET', '/api/installation', {
  tag: 'Operation',
  summary: 'What this Porthole is: version, provider, limits and warnings',
  responses: { 200: { description: 'The installation', schema: InstallationDto } },
  async handle(
    { person },
    { about, warnings, life, maxInstances, uploads, previewSettings: preview, authenticator },
  ) {
    return json(200, {
      version: VERSION,
      provider: about.provider,
      sandboxes: person.admin ? await about.describe() : null,
      warnings: [...warnings()],
      limits: {
        idle_minutes: life.idle / 60_000,
        retention_hours: life.retention / 3_600_000,
        running_sandboxes: maxInstances === 0 ? null : maxInstances,
        file_mib: uploads.file / 1_048_576,
      },
      previews: preview.enabled
        ? {
            port_min: preview.allowedPortMin,
            port_max: preview.allowedPortMax,
            idle_minutes: preview.idleTimeoutMinutes,
            lifetime_hours: preview.maxLifetimeHours,
            per_run: preview.maxPerRun,
            total: preview.maxTotal,
          }
        : null,
      sign_in: authenticator.withoutCredential === undefined ? about.signIn : 'none',
      docs_url: about.docsUrl?.href ?? null,
      feedback_url: about.feedbackUrl?.href ?? null,
    } satisfies z.infer<typeof InstallationDto>);
  },
});
