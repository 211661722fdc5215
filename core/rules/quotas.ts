import type { Owner } from '../ports/records.ts';

/** What one person may have at a time. */
export interface Quota {
  /** Sandboxes that run, or are being made; undefined: any number. */
  readonly sandboxes?: number | undefined;
}

export interface Quotas {
  /** Of whoever is not named. It does not bind the service key, which acts for everybody. */
  readonly default: Quota;
  /** By user, `service` and `local` among them. */
  readonly users: Readonly<Record<string, Quota>>;
}

/** Nobody is bound. */
export const NO_QUOTAS: Quotas = { default: {}, users: {} };

/** What binds the owner. What a user's own entry does not say, the default does. */
export function quotaOf({ default: common, users }: Quotas, { user }: Owner): Quota {
  const own = Object.hasOwn(users, user) ? users[user] : undefined;
  if (user === 'service') return own ?? {};
  return { ...common, ...own };
}
