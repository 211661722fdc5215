/** Dev servers and web frameworks in sandboxes, without proxy settings, in a real browser. */
import { afterAll, beforeAll } from '@jest/globals';
import { FAULTS } from './framework-faults.ts';
import { type FrameworkHarness, openLocalHarness } from './framework-harness.ts';
import { frameworkSuite } from './framework-suite.ts';
import { selectFrameworks } from './framework-table.ts';

let harness: FrameworkHarness;

beforeAll(async () => {
  harness = await openLocalHarness();
});
afterAll(() => harness?.end());

/** Names of projects, or `all`. The core by default. */
const names = (process.env['PORTHOLE_FRAMEWORKS'] ?? '').split(',').filter(Boolean);
for (const framework of selectFrameworks(names)) {
  const faults = FAULTS[framework.name] ?? [];
  frameworkSuite(framework, () => harness, {
    faults: names.length === 0 ? faults.filter(({ core }) => core) : faults,
  });
}
