import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CREDENTIALS, noCredentialsContract } from '#test/contracts/no-credentials.contract.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine } from './support/engine.ts';

suite('in a container', engineMissing(), () => {
  noCredentialsContract(
    async () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'porthole-credentials-'));
      const engine = await openTestEngine();
      const environment = { ...CREDENTIALS, ...dockerEnvironment(engine) };
      const host = await startHostProcess({ dataDir, environment });
      return {
        porthole: { call: (method, path, options) => call(host.port, method, path, options) },
        async end() {
          const token = CREDENTIALS.SANDBOX_API_KEY;
          const { sandboxes } = (await call(host.port, 'GET', '/v1/sandbox', { token })).json<{
            sandboxes: { id: string }[];
          }>();
          for (const { id } of sandboxes) await call(host.port, 'DELETE', `/v1/sandbox/${id}`, { token });
          await host.end();
          await engine.stop();
          rmSync(dataDir, { recursive: true, force: true });
        },
      };
    },
    { hasChannel: true },
  );
});
