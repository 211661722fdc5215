import { expect, test } from '@jest/globals';
import { runName } from '../../console/src/runs/run-name.ts';
import { sandboxName } from '../../console/src/sandboxes/sandbox-name.ts';

test('shows the title of a run as plain text, up to a length', () => {
  expect(runName('run_1', 'Build the shop')).toBe('Build the shop');
  expect(runName('run_1', 'x'.repeat(300), 80).length).toBeLessThanOrEqual(80);
});

test('gives a run without a title two words, as a sandbox without a name', () => {
  expect(runName('run_1', null)).toMatch(/^[a-z]+-[a-z]+$/);
  expect(runName('run_1', '')).toBe(sandboxName({ id: 'run_1' }));
  expect(runName('run_2', undefined)).not.toBe(runName('run_1', undefined));
});
