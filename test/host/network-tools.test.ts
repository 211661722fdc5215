import { missingFor } from '#test/adapters/local/machine.ts';
import { networkToolsContract } from '#test/contracts/network-tools.contract.ts';
import { suite } from '#test/support/suite.ts';

suite('the network of a sandbox on this machine', missingFor('bubblewrap'), () => {
  networkToolsContract(() => ({}));
});
