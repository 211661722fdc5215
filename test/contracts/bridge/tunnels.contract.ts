import { describe, expect, test } from '@jest/globals';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, refusal } from './bridge-client.ts';

export function tunnelsContract(bridge: UnderTest, id: () => string): void {
  describe('a tunnel', () => {
    const open = (port: string, json?: unknown) =>
      ask(bridge(), 'POST', `/v1/sandbox/${id()}/tunnel/${port}`, { json });
    const close = (port: string) => ask(bridge(), 'DELETE', `/v1/sandbox/${id()}/tunnel/${port}`);

    test('is opened, stays the same while it is open, and is closed', async () => {
      const answer = await open('3000', { name: 'my-app' });
      expect([answer.status, answer.json()]).toEqual([
        200,
        {
          id: expect.any(String) as unknown,
          port: 3000,
          url: expect.stringMatching(/^https?:\/\/[a-z0-9-]+-preview\./) as unknown,
          hostname: expect.stringMatching(/^[a-z0-9-]+-preview\./) as unknown,
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown,
          name: 'my-app',
        },
      ]);
      const { url } = answer.json<{ url: string }>();
      expect((await open('3000')).json<{ url: string }>().url).toBe(url);
      expect((await close('3000')).status).toBe(204);
      expect((await open('3000')).json<{ url: string }>().url).not.toBe(url);
      expect((await close('3000')).status).toBe(204);
    });

    test('is one for simultaneous requests', async () => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => open('4000')));
      expect(new Set(answers.map((answer) => answer.json<{ url: string }>().url)).size).toBe(1);
      await close('4000');
    });

    test('closes without an error when it is not there', async () => {
      expect((await close('3999')).status).toBe(204);
    });

    test.each(['abc', '0', '80', '70000', '3000.5', '-1', '+3000', '03000'])(
      'has no port %s',
      async (port) => {
        for (const answer of [await open(port), await close(port)]) {
          const [status, code, error] = refusal(answer);
          expect([status, code, error.startsWith('Invalid port')]).toEqual([400, 'invalid_request', true]);
        }
      },
    );

    test('has a name that is a DNS label, or none', async () => {
      expect(refusal(await open('3000', { name: 5 }))).toEqual([
        400,
        'invalid_request',
        'name must be a string when provided',
      ]);
      for (const name of ['Upper', '-a', 'a-', 'a.b', 'a'.repeat(64), '']) {
        const [status, , error] = refusal(await open('3000', { name }));
        expect([status, error.includes('is not a valid DNS label')]).toEqual([400, true]);
      }
      const answer = await ask(bridge(), 'POST', `/v1/sandbox/${id()}/tunnel/3000`, { body: '{' });
      expect(refusal(answer)).toEqual([400, 'invalid_request', 'Invalid JSON body']);
    });
  });
}
