import { describe, expect, test } from '@jest/globals';
import { type Caller, LOCAL } from '#core/callers.ts';
import { identify } from '#handlers/http/authenticate.ts';

const CAROL: Caller = { kind: 'person', user: 'carol', org: 'acme', admin: false };
const secured = {
  withoutCredential: undefined,
  authenticate: (credential: string) => Promise.resolve(credential === 'good' ? CAROL : undefined),
};
const metrics = { access: 'local', summary: 'metrics' } as const;
const ask = (sourceIp: string | undefined, headers: Record<string, string> = {}) =>
  identify(secured, metrics, {
    rawPath: '/metrics',
    rawQueryString: '',
    headers,
    requestContext: { http: { method: 'GET', sourceIp } },
  });

describe('a route that is open on this machine alone', () => {
  test.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])('lets %s in', async (address) => {
    expect(await ask(address)).toBeUndefined();
  });

  test.each([
    '192.0.2.1',
    '10.0.0.1',
    '0.0.0.0',
    '::',
    '::ffff:192.0.2.1',
    '1270.0.0.1',
    '2001:db8::1',
    '',
    undefined,
  ])('asks %s for a credential', async (address) => {
    await expect(ask(address)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await ask(address, { authorization: 'Bearer good' })).toBe(CAROL);
  });

  test.each(['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'])(
    'asks for a credential where a proxy has added %s',
    async (name) => {
      await expect(ask('127.0.0.1', { [name]: 'someone' })).rejects.toMatchObject({ code: 'unauthorized' });
    },
  );

  test('checks a credential that is presented on this machine, too', async () => {
    await expect(ask('127.0.0.1', { authorization: 'Bearer bad' })).rejects.toMatchObject({
      code: 'unauthorized',
    });
  });

  test('is open to local callers while nothing is configured', async () => {
    const open = { ...secured, withoutCredential: LOCAL };
    const event = {
      rawPath: '/metrics',
      rawQueryString: '',
      headers: {},
      requestContext: { http: { method: 'GET', sourceIp: '127.0.0.1' } },
    };
    expect(await identify(open, metrics, event)).toBe(LOCAL);
  });
});
