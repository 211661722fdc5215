import { processesContract } from '#test/contracts/processes.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { PEOPLE } from './support/people.ts';

processesContract(async () => {
  const porthole = await startTestHost(PEOPLE);
  return { porthole, end: () => porthole.end() };
});
