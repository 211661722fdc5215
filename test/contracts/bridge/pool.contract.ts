import { describe, expect, test } from '@jest/globals';
import type { UnderTest } from '../bridge.contract.ts';
import { ask } from './bridge-client.ts';

export function poolContract(bridge: UnderTest): void {
  describe('the warm pool', () => {
    test('tells its numbers', async () => {
      const answer = await ask(bridge(), 'GET', '/v1/pool/stats');
      expect(answer.status).toBe(200);
      const stats = answer.json<{ warm: number; assigned: number; total: number }>();
      expect(stats).toEqual({
        warm: expect.any(Number) as unknown,
        assigned: expect.any(Number) as unknown,
        total: stats.warm + stats.assigned,
        config: {
          warmTarget: 0,
          refreshInterval: 10_000,
          maxInstances: 0,
          scaleBatchSize: 5,
        },
        maxInstances: null,
      });
    });

    test.each(['prime', 'shutdown-prewarmed'])('takes %s', async (what) => {
      const answer = await ask(bridge(), 'POST', `/v1/pool/${what}`);
      expect([answer.status, answer.json()]).toEqual([200, { ok: true }]);
    });

    test.each([
      ['GET', 'stats'],
      ['POST', 'prime'],
      ['POST', 'shutdown-prewarmed'],
    ])('%s %s asks for the key', async (method, what) => {
      expect((await ask(bridge(), method, `/v1/pool/${what}`, { key: null })).status).toBe(401);
    });
  });
}
