import { join } from 'node:path';
import type { SealedTexts } from '#adapters/keys/sealed-texts.ts';
import type { Records } from '#core/ports/records.ts';
import type { Logger } from '#handlers/services.ts';

/** PostgreSQL where a URL is given, else a SQLite file in the data folder. Neither pays for loading the other. */
export async function openRecords(
  databaseUrl: string | undefined,
  folder: () => Promise<string>,
  { log, seals }: { readonly log: Logger; readonly seals: SealedTexts },
): Promise<Records> {
  if (databaseUrl !== undefined) {
    const { openPostgresRecords } = await import('#adapters/sql/postgres/open-postgres-records.ts');
    return openPostgresRecords({ url: databaseUrl, log, seals });
  }
  const { openSqliteRecords } = await import('#adapters/sql/sqlite/open-sqlite-records.ts');
  return openSqliteRecords({ file: join(await folder(), 'porthole.db'), log, seals });
}
