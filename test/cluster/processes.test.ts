/**
 * Processes, servers and ports of sandboxes that are pods, and previews through the cluster's
 * gateway.
 */
import { processesContract } from '#test/contracts/processes.contract.ts';
import { PEOPLE } from '#test/host/support/people.ts';
import { suite } from '#test/support/suite.ts';
import { missing } from './fixture/cluster.ts';
import { openOnPods } from './hosts/cluster-hosts.ts';

suite('processes on pods', missing(), () => {
  processesContract(() => openOnPods({ environment: PEOPLE }));
});
