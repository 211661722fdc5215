/**
 * A reaper as a separate process: makes one pass for each time it receives, and reports the memory
 * of the pass.
 */
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { openPreviewFixture } from './preview-fixture.ts';

const [kubeconfig = '', full = '', empty = ''] = process.argv.slice(2);
const SAMPLE_MS = 5;
const MEGABYTE = 1_048_576;

const fixture = await openPreviewFixture(kubeconfig);
const records = openSqliteRecords({ file: ':memory:' });
await records.migrate();

/** The peak memory of a pass above the memory before it. */
async function growthOfPass(namespace: string, now: Date): Promise<number> {
  const { plane, previewSettings } = fixture.planeOf(namespace);
  const before = process.memoryUsage.rss();
  let most = before;
  const sampler = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), SAMPLE_MS);
  await reapPreviews({ plane, records, previewSettings, clock: { now: () => now } });
  clearInterval(sampler);
  return (Math.max(most, process.memoryUsage.rss()) - before) / MEGABYTE;
}

process.on('message', (at: number) => {
  growthOfPass(full, new Date(at)).then(
    (growth) => process.send?.(growth),
    (error: unknown) => {
      throw error;
    },
  );
});
// Code is loaded and compiled by then.
await growthOfPass(empty, new Date());
process.send?.('ready');
