/**
 * The sandbox bridge on the sandboxes of a real cluster: functions on this machine, previews
 * through its Gateway.
 */
import { bridgeContract, type BridgeUnderTest } from '#test/contracts/bridge.contract.ts';
import { suite } from '#test/support/suite.ts';
import { definitionsMissing } from './agent-sandbox-stand-in/definitions.ts';
import { missing } from './fixture/cluster.ts';
import { type ClusterHost, openOnClaims, openOnPods } from './hosts/cluster-hosts.ts';

const KEY = 'the-key-of-the-bridge';
const environment = { SANDBOX_API_KEY: KEY };

function bridge({ porthole, end }: ClusterHost): BridgeUnderTest {
  return { port: porthole.host.port, key: KEY, end };
}

suite('on pods', missing(), () => {
  bridgeContract(async () => bridge(await openOnPods({ environment })), 'provider');
});

// Commands, files and streams reach the pod of a claim as they reach any pod: the provider's
// contract tests that on claims, and the suite above tests the bridge.
suite('on claims of agent-sandbox', missing() ?? definitionsMissing(), () => {
  bridgeContract(async () => bridge(await openOnClaims({ environment })), 'life');
});
