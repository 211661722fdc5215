import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { sandboxLifecycleContract } from '#test/contracts/sandbox-lifecycle.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';

describe('the lives of local sandboxes', () => {
  sandboxLifecycleContract(
    async (clock) => {
      const porthole = await startTestHost({ SANDBOX_RETENTION_HOURS: '1' }, { clock });
      return {
        porthole,
        remains: (id) => Promise.resolve(existsSync(join(porthole.dataDir, 'sandboxes', id))),
        end: () => porthole.end(),
      };
    },
    { seesTraffic: true },
  );
});
