import { randomIds, systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { Authenticator } from '#core/auth/authenticator.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { GuessLimit } from '#core/auth/guess-limit.ts';
import type { Services } from '#handlers/services.ts';
import { lineLogger } from './line-logger.ts';
import type { OpenFunction } from './open-function.ts';

/**
 * Services that need no opening. Of previews, their location: the console's page says whom it may
 * frame.
 */
type Unopened = Partial<Omit<Services, 'previewSettings'>> & {
  readonly previewSettings: Pick<PreviewOptions, 'enabled' | 'zoneSuffix' | 'zones'>;
};

/** For routes without authentication: they read no record and no cluster, so none is opened. */
export function openNothing(): Promise<OpenFunction> {
  const publicUrl = URL.parse(process.env['PORTHOLE_PUBLIC_URL'] ?? '') ?? undefined;
  const zoneSuffix = process.env['Sandbox__Preview__ZoneSuffix'];
  const services: Unopened = {
    log: lineLogger(),
    clock: systemClock,
    ids: randomIds,
    authenticator: REJECT_ALL,
    denied: { add: () => {}, settled: () => Promise.resolve() },
    guesses: new GuessLimit(30, systemClock),
    warnings: () => [],
    publicUrl,
    previewSettings: {
      enabled: zoneSuffix !== undefined,
      zoneSuffix: zoneSuffix ?? '',
      zones: JSON.parse(process.env['PORTHOLE_ZONES'] ?? '[]') as PreviewOptions['zones'],
    },
  };
  return Promise.resolve({
    services: new Proxy(services, { get: opened }) as unknown as Services,
    options: { publicOrigin: publicUrl?.origin },
  });
}

function opened(services: Unopened, name: string): unknown {
  if (Object.hasOwn(services, name)) return services[name as keyof Unopened];
  throw new Error(`${name} is not opened for the function of a public route.`);
}

/** Rejects every credential, and requests without one. */
const REJECT_ALL: Authenticator = {
  withoutCredential: undefined,
  authenticate: () => Promise.resolve(undefined),
};
