import { describe, expect, test } from '@jest/globals';
import { KubernetesError } from '#adapters/kubernetes/client/kubernetes-error.ts';
import { retryDelay } from '#adapters/kubernetes/client/exchange.ts';

function failure(status: number, reason: string, facts: { inDoubt?: boolean; retryAfterMs?: number } = {}) {
  return new KubernetesError('it failed', { status, reason, inDoubt: false, ...facts });
}

const ANYTHING = { inDoubt: true, conflict: true };
const NOTHING = { inDoubt: false, conflict: false };

describe('the wait before another try', () => {
  test('doubles from 50 ms, half of it by chance, and ends after five tries', () => {
    const error = failure(503, 'ServiceUnavailable');
    expect([1, 2, 3, 4, 5].map((tries) => retryDelay(error, tries, ANYTHING, 1))).toEqual([
      50,
      100,
      200,
      400,
      undefined,
    ]);
    expect(retryDelay(error, 1, ANYTHING, 0)).toBe(25);
  });

  test('is never shorter than what the server asks for', () => {
    const error = failure(429, 'TooManyRequests', { retryAfterMs: 2_000 });
    expect(retryDelay(error, 1, NOTHING, 1)).toBe(2_000);
  });

  test.each<[string, KubernetesError, boolean, boolean]>([
    ['no connection', failure(0, 'NoAnswer'), true, true],
    ['a lost answer', failure(0, 'NoAnswer', { inDoubt: true }), true, false],
    ['too many requests', failure(429, 'TooManyRequests'), true, true],
    ['an internal error', failure(500, 'InternalError', { inDoubt: true }), true, false],
    ['a conflict', failure(409, 'Conflict'), true, false],
    ['a name that is taken', failure(409, 'AlreadyExists'), false, false],
    ['nothing there', failure(404, 'NotFound'), false, false],
    ['a quota that is not counted yet', failure(403, 'QuotaStatusUnknown'), true, true],
    ['a refusal', failure(403, 'Forbidden'), false, false],
    ['an invalid object', failure(422, 'Invalid'), false, false],
  ])('after %s', (_name, error, whereSafe, elsewhere) => {
    expect(retryDelay(error, 1, ANYTHING, 1) !== undefined).toBe(whereSafe);
    expect(retryDelay(error, 1, NOTHING, 1) !== undefined).toBe(elsewhere);
  });
});
