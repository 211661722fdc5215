/** The sandbox bridge on containers. */
import { bridgeContract } from '#test/contracts/bridge.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine } from './support/engine.ts';

const KEY = 'the-key-of-the-bridge';

suite('on containers', engineMissing(), () => {
  bridgeContract(async () => {
    const engine = await openTestEngine();
    const host = await startTestHost({ SANDBOX_API_KEY: KEY, ...dockerEnvironment(engine) });
    return {
      port: host.host.port,
      key: KEY,
      async end() {
        await host.end();
        await engine.stop();
      },
    };
  }, 'provider');
});
