/** People of two orgs, an admin, and the service: the callers of these suites. */
export const ALICE = 'alice-key-0123456789abcdef';
/** Of alice's org. */
export const CAROL = 'carol-key-0123456789abcdef-c';
export const BOB = 'bob-key-0123456789abcdef-bob';
export const ADA_ADMIN = 'ada-key-0123456789abcdef-ada';
export const SERVICE_KEY = 'service-key-0123456789abcdef';

/** The environment that configures them. */
export const PEOPLE = {
  SANDBOX_API_KEY: SERVICE_KEY,
  PORTHOLE_API_KEYS: JSON.stringify({
    [ALICE]: { user: 'alice', org: 'acme' },
    [CAROL]: { user: 'carol', org: 'acme' },
    [BOB]: { user: 'bob', org: 'globex' },
    [ADA_ADMIN]: { user: 'ada', org: 'ops', admin: true },
  }),
};
