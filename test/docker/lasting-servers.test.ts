/** Declared servers of containers, which are recreated by each resume. */
import { lastingServersContract } from '#test/contracts/lasting-servers.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine } from './support/engine.ts';

suite('declared servers of containers', engineMissing(), () => {
  lastingServersContract(async () => {
    const engine = await openTestEngine();
    const porthole = await startTestHost(dockerEnvironment(engine));
    return {
      porthole,
      async end() {
        await porthole.end();
        await engine.stop();
      },
    };
  });
});
