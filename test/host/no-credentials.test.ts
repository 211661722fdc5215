import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CREDENTIALS, noCredentialsContract } from '#test/contracts/no-credentials.contract.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { postgresMissing, startPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';

suite('on this machine', missingFor('bubblewrap') ?? postgresMissing, () => {
  noCredentialsContract(
    async () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'porthole-credentials-'));
      const postgres = await startPostgres();
      const { password } = new URL(postgres.url);
      const environment = { ...CREDENTIALS, DATABASE_URL: postgres.url };
      const host = await startHostProcess({ dataDir, environment });
      return {
        porthole: { call: (method, path, options) => call(host.port, method, path, options) },
        more: [password, postgres.url],
        async end() {
          await host.end();
          await postgres.stop();
          rmSync(dataDir, { recursive: true, force: true });
        },
      };
    },
    { hasChannel: true },
  );
});
