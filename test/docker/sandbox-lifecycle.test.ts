/** The lifecycle of containers. */
import { sandboxLifecycleContract } from '#test/contracts/sandbox-lifecycle.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine } from './support/engine.ts';

suite('the lives of containers', engineMissing(), () => {
  sandboxLifecycleContract(
    async (clock) => {
      const engine = await openTestEngine();
      const porthole = await startTestHost(
        { SANDBOX_RETENTION_HOURS: '1', ...dockerEnvironment(engine) },
        { clock },
      );
      return {
        porthole,
        async remains(id) {
          const { Volumes } = await engine.docker.listVolumes();
          return Volumes.some(({ Labels }) => Object.values(Labels ?? {}).includes(id));
        },
        async end() {
          await porthole.end();
          await engine.stop();
        },
      };
    },
    { seesTraffic: true },
  );
});
