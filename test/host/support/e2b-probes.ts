import type { TestHost } from '#test/support/in-process-host.ts';
import { declareCodeServer } from './code-server.ts';
import { ALICE } from './people.ts';
import type { Probe } from './route-probes.ts';
import type { MadeRun } from './runs.ts';

type Probes = Readonly<Record<string, (run: MadeRun) => Promise<Probe>>>;

/** The data plane has the sandbox in a header. */
const inSandbox =
  (rest: Probe = {}) =>
  ({ sandboxId }: MadeRun): Promise<Probe> =>
    Promise.resolve({ ...rest, headers: { 'e2b-sandbox-id': sandboxId } });

const create = () => Promise.resolve({ body: { templateID: 'base' } });
const setTimeout = ({ sandboxId }: MadeRun) =>
  Promise.resolve({ params: { id: sandboxId }, body: { timeout: 3_600 } });

const CODE: Readonly<Record<string, Probe>> = {
  e2bExecute: { body: { code: '1' } },
  e2bListContexts: {},
  e2bCreateContext: { body: {} },
  e2bDeleteContext: { params: { context: 'a' } },
  e2bRestartContext: { params: { context: 'a' } },
};

/** Calls of E2B's SDKs about alice's sandbox. */
export const e2bProbes = (porthole: TestHost): Probes => ({
  e2bCreateSandbox: create,
  e2bCreateSandboxV1: create,
  e2bSetTimeout: setTimeout,
  e2bSetNetwork: ({ sandboxId }) => Promise.resolve({ params: { id: sandboxId }, body: {} }),
  e2bDeleteTemplate: () => Promise.resolve({ params: { template: 'ckp_01' } }),
  e2bFindTemplate: () => Promise.resolve({ params: { alias: 'base' } }),
  e2bHealth: inSandbox(),
  e2bMetrics: inSandbox(),
  e2bEnvs: inSandbox(),
  e2bReadFile: inSandbox({ query: '?path=/workspace/a.txt' }),
  e2bWriteFiles: inSandbox({ query: '?path=/workspace/b.txt', body: 'b' }),
  e2bProcess: inSandbox({ params: { method: 'List' }, body: {} }),
  e2bFilesystem: inSandbox({ params: { method: 'ListDir' }, body: { path: '/workspace' } }),
  ...Object.fromEntries(
    Object.entries(CODE).map(([route, probe]) => [
      route,
      async (run: MadeRun) => {
        await declareCodeServer(porthole, run.sandboxId, ALICE);
        return inSandbox(probe)(run);
      },
    ]),
  ),
});
