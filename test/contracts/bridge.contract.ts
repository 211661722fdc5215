import { afterAll, beforeAll, describe } from '@jest/globals';
import { type Bridge, create } from './bridge/bridge-client.ts';
import { clientContract } from './bridge/client.contract.ts';
import { execContract } from './bridge/exec.contract.ts';
import { foldersContract } from './bridge/folders.contract.ts';
import { filesContract } from './bridge/files.contract.ts';
import { delegatedContract } from './bridge/delegated.contract.ts';
import { lifecycleContract } from './bridge/lifecycle.contract.ts';
import { archivesContract } from './bridge/archives.contract.ts';
import { mountsContract } from './bridge/mounts.contract.ts';
import { poolContract } from './bridge/pool.contract.ts';
import { ptyContract } from './bridge/pty.contract.ts';
import { sessionsContract } from './bridge/sessions.contract.ts';
import { surfaceContract } from './bridge/surface.contract.ts';
import { tunnelsContract } from './bridge/tunnels.contract.ts';

export interface BridgeUnderTest extends Bridge {
  end(): Promise<void>;
}

/** Returns the bridge, once it is open. */
export type UnderTest = () => Bridge;

/**
 * The sandbox bridge over HTTP, as its clients see it, on the sandboxes of `open`. `provider`:
 * without the limits of the guest, which is the same program in every sandbox. `life`: only the
 * lifecycle of sandboxes, if commands and files use another provider that has the contract.
 */
export function bridgeContract(
  open: () => Promise<BridgeUnderTest>,
  part: 'all' | 'provider' | 'life' = 'all',
): void {
  describe('the sandbox bridge', () => {
    let opened: BridgeUnderTest | undefined;
    const bridge: UnderTest = () => {
      if (opened === undefined) throw new Error('the bridge is not open');
      return opened;
    };
    beforeAll(async () => {
      opened = await open();
    }, 300_000);
    afterAll(() => opened?.end(), 120_000);

    lifecycleContract(bridge);
    poolContract(bridge);
    if (part === 'life') return;
    const hasLimits = part === 'all';
    let shared = '';
    const id = () => shared;
    beforeAll(async () => {
      shared = await create(bridge());
    }, 120_000);

    surfaceContract(bridge);
    execContract(bridge, id);
    sessionsContract(bridge, id);
    filesContract(bridge, id);
    foldersContract(bridge, hasLimits);
    archivesContract(bridge, hasLimits);
    mountsContract(bridge, id);
    delegatedContract(bridge);
    ptyContract(bridge, id);
    tunnelsContract(bridge, id);
    clientContract(bridge);
  });
}
