import { expect, test } from '@jest/globals';
import { amountOf } from '#base/quantity.ts';
import { canonicalQuantity } from '../../infra/quantity.ts';

// What `kubectl get` shows of each.
test.each([
  ['0.5', '500m'],
  ['1000m', '1'],
  ['1500m', '1500m'],
  ['2', '2'],
  ['0.07', '70m'],
  ['1000', '1k'],
  ['1024', '1024'],
  ['20', '20'],
  ['1000000', '1M'],
  ['1024Mi', '1Gi'],
  ['1.5Gi', '1536Mi'],
  ['3072Mi', '3Gi'],
  ['1000Mi', '1000Mi'],
  ['1000Ki', '1000Ki'],
  ['512Mi', '512Mi'],
  ['1500M', '1500M'],
  ['1.5G', '1500M'],
  ['2Ti', '2Ti'],
  ['1.0001Gi', '1073849198183m'],
])('writes %s as the API server stores it, %s', (given, stored) => {
  expect(canonicalQuantity(given)).toBe(stored);
  expect(canonicalQuantity(stored)).toBe(stored);
  expect(amountOf(stored)).toBeCloseTo(amountOf(given), 2);
});
