import { join } from 'node:path';
import { openLocalPlane } from '#adapters/previews/local-plane.ts';
import { deriveKeySet } from '#protocol/guest/key-set.ts';
import { loadOrCreateJwks } from '#adapters/auth/key-file.ts';
import { createSignedTokens } from '#adapters/auth/signed-tokens.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { randomIds } from '#adapters/system/clock-and-random-ids.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { openDataFolder } from '#host/data-folder.ts';
import { folderProvider } from './folder-provider.ts';
import { previewOptions } from '#test/support/preview-options.ts';

/** The services with which a host starts and stops previews in its data folder, without HTTP. */
export async function openHarness(dataDir: string, clock: Clock, between?: () => Promise<void>) {
  const folder = await openDataFolder(dataDir);
  const records = openSqliteRecords({ file: join(folder.path, 'porthole.db') });
  const [jwks] = await Promise.all([
    loadOrCreateJwks(join(folder.path, 'signing-keys.json')),
    records.migrate(),
  ]);
  const provider = folderProvider(join(folder.path, 'sandboxes'), between);
  const plane = await openLocalPlane({
    folder: join(folder.path, 'previews'),
    zone: 'localhost',
    maxTotal: 1_000,
    clock,
    sandboxes: provider,
    address: () => ({ scheme: 'http', port: 8787 }),
  });
  return {
    installationId: 'here',
    records,
    plane,
    sandboxes: provider,
    clock,
    ids: randomIds,
    tokens: createSignedTokens(deriveKeySet(jwks)),
    previewSettings: previewOptions(),
    quotas: NO_QUOTAS,
    async close() {
      await records.close();
      folder.release();
    },
  };
}
