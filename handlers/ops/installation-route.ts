import { z } from 'zod';
import { CHECK_STATES, examineInstallation } from '#core/diagnosis/examine-installation.ts';
import { requireAdmin } from '../http/require-admin.ts';
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

const Checks = z
  .object({
    ok: z.boolean().describe('Whether no check failed'),
    checks: z.array(
      z.object({
        name: z.string().describe('Such as `database` or `certificate`'),
        state: z.enum(CHECK_STATES).describe('`failed`: users cannot work; `warning`: they soon cannot'),
        detail: z.string().describe('What was found'),
        remedy: z.string().nullable().describe('What to do; null if it is ok'),
      }),
    ),
  })
  .meta({ id: 'InstallationChecks' });

export const checksRoute = defineRoute('checkInstallation', 'GET', '/api/installation/checks', {
  tag: 'Operation',
  summary: 'Check what the installation needs: database, clock, sandboxes, images, capacity …',
  description: 'Each check takes at most 5 seconds. For admins. `porthole doctor` prints it.',
  responses: { 200: { description: 'What was found', schema: Checks } },
  errors: ['forbidden'],
  async handle({ person }, services) {
    requireAdmin(person, 'check the installation', 'it');
    const checks = await examineInstallation({ ...services, sandboxes: services.sandboxes.for('control') });
    const body = { ok: checks.every(({ state }) => state !== 'failed'), checks: [...checks] };
    return json(200, body satisfies z.infer<typeof Checks>, { 'cache-control': 'no-store' });
  },
});
