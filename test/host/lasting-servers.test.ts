import { lastingServersContract } from '#test/contracts/lasting-servers.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';

lastingServersContract(async () => {
  const porthole = await startTestHost();
  return { porthole, end: () => porthole.end() };
});
