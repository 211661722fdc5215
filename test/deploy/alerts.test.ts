/** Alerts of `deploy/monitoring` as Prometheus itself reads and evaluates them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { command } from '#test/cluster/fixture/command.ts';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import { suite } from '#test/support/suite.ts';

const PROMTOOL = join(cacheFolder(), 'promtool/usr/bin/promtool');
const RULES = join(import.meta.dirname, '../../deploy/monitoring/rules.yaml');
const missing = existsSync(PROMTOOL) ? undefined : `${PROMTOOL} is missing: .ci/run downloads it`;

suite('the alerts', missing, () => {
  test('are rules of Prometheus', async () => {
    expect(await command([PROMTOOL, 'check', 'rules', RULES])).toContain('15 rules found');
  });

  test('fire when an objective is missed', async () => {
    const cases = join(import.meta.dirname, 'alerts.yaml');
    expect(await command([PROMTOOL, 'test', 'rules', cases])).toContain('SUCCESS');
  });
});
