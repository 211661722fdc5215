import { checkpointsContract } from '#test/contracts/checkpoints.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';

checkpointsContract(async () => {
  const porthole = await startTestHost();
  return { porthole, end: () => porthole.end() };
});
