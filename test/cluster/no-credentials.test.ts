import { CREDENTIALS, noCredentialsContract } from '#test/contracts/no-credentials.contract.ts';
import { suite } from '#test/support/suite.ts';
import { missing } from './fixture/cluster.ts';
import { openOnPods } from './hosts/cluster-hosts.ts';

suite('in a pod', missing(), () => {
  noCredentialsContract(() => openOnPods({ environment: CREDENTIALS }), { hasChannel: false });
});
