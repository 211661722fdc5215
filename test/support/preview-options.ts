import type { PreviewOptions } from '#core/previews/preview-limits.ts';

/** The defaults on one machine, with these changes. */
export const previewOptions = (change: Partial<PreviewOptions> = {}): PreviewOptions => ({
  enabled: true,
  zoneSuffix: 'localhost',
  gatewayName: 'gateway',
  gatewayNamespace: 'porthole',
  zones: [],
  namespace: 'porthole',
  upstream: 'direct',
  idleTimeoutMinutes: 30,
  maxLifetimeHours: 8,
  keepAfterRun: true,
  allowedPortMin: 3000,
  allowedPortMax: 9000,
  autoApprove: false,
  access: 'link',
  maxAccess: 'link',
  maxWakesPerLink: 6,
  maxWakesPerOwner: 30,
  maxNamesPerOwner: 100,
  maxPerRun: 3,
  maxTotal: 20,
  readyTimeoutSeconds: 10,
  ...change,
});
