/** The lifecycle of sandboxes of a real cluster. */
import { sandboxObjectName } from '#constructs/names.ts';
import {
  type LifecycleFixture,
  sandboxLifecycleContract,
} from '#test/contracts/sandbox-lifecycle.contract.ts';
import { suite } from '#test/support/suite.ts';
import { definitionsMissing } from './agent-sandbox-stand-in/definitions.ts';
import { missing } from './fixture/cluster.ts';
import { type ClusterHost, openOnClaims, openOnPods } from './hosts/cluster-hosts.ts';

// These previews are not visited: their starts need not wait for a Gateway.
const environment = { SANDBOX_RETENTION_HOURS: '1', Sandbox__Preview__ReadyTimeoutSeconds: '1' };

/**
 * One line each. A terminating one is listed with its deletionTimestamp: nothing can use it any
 * more.
 */
const VOLUMES =
  '--output=jsonpath={range .items[*]}{.metadata.name}{.metadata.deletionTimestamp}{"\\n"}{end}';

function fixture(
  { porthole, kubectl, end }: ClusterHost,
  volumeOf: (id: string) => string,
): LifecycleFixture {
  return {
    porthole,
    remains: async (id) => (await kubectl('get', 'pvc', VOLUMES)).split('\n').includes(volumeOf(id)),
    end,
  };
}

suite('the lives of pods', missing(), () => {
  sandboxLifecycleContract(
    async (clock) => fixture(await openOnPods({ environment, clock }), sandboxObjectName),
    { seesTraffic: false },
  );
});

suite('the lives of claims of agent-sandbox', missing() ?? definitionsMissing(), () => {
  sandboxLifecycleContract(
    async (clock) =>
      fixture(await openOnClaims({ environment, clock }), (id) => `workspace-${sandboxObjectName(id)}`),
    { seesTraffic: false, part: 'life' },
  );
});
