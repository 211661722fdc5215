/**
 * A separate server process on the file named by the first argument. It prints `ready`, waits until
 * its stdin ends, migrates and prints `migrated`. With `write` it then ends the previews of run_1
 * port 3000 one generation after another, each followed by a burial of ten, and prints each
 * generation once it is acknowledged, until it is killed.
 */
import { writeSync } from 'node:fs';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { EndReason, Tombstone } from '#core/previews/preview-records.ts';

const [file, task] = process.argv.slice(2);
if (file === undefined) throw new Error('no file');

function say(word: string | number): void {
  writeSync(1, `${word}\n`);
}

function tombstone(tokenSha256: string, reason: EndReason): Tombstone {
  return { tokenSha256, runId: 'run_1', reason, at: new Date('2026-03-01T12:00:00.000Z') };
}

const records = openSqliteRecords({ file });
say('ready');
for await (const _ of process.stdin);
await records.migrate();
say('migrated');

if (task === 'write') {
  for (let from = await records.previews.generation('run_1', 3000); ; ) {
    const at = from;
    from = await records.previews.end('run_1', 3000, at, tombstone(`end-${at}`, 'stopped'));
    await records.previews.bury(
      Array.from({ length: 10 }, (_, part) => tombstone(`burial-${at}-${part}`, 'expired')),
    );
    say(from);
  }
}
await records.close();
