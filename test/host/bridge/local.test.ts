import { bridgeContract } from '#test/contracts/bridge.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';

const KEY = 'the-key-of-the-bridge';

bridgeContract(async () => {
  const host = await startTestHost({ SANDBOX_API_KEY: KEY });
  return { port: host.host.port, key: KEY, end: () => host.end() };
});
