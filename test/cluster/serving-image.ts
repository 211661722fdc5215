import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from './fixture/cluster.ts';
import { busyboxEntries } from './fixture/fixture-images.ts';
import { image } from './fixture/image.ts';

const SERVE = "trap 'exit 0' TERM; httpd -p 8787 -h /srv; while :; do sleep 3600 & wait; done";

/** In place of the functions: pods become ready, and answer nothing but their health. */
export const SERVING_IMAGE = 'porthole.test/serving:1';

/** Imports the image. Pulumi waits until the pods of a Deployment are ready. */
export async function importServingImage(cluster: Cluster): Promise<void> {
  if (await cluster.hasImage(SERVING_IMAGE)) return;
  const root = [
    ...(await busyboxEntries()),
    { kind: 'folder', path: 'srv/', mode: 0o755 },
    { kind: 'file', path: 'srv/health', mode: 0o644, content: Buffer.from('ok') },
  ] as const;
  const folder = mkdtempSync(join(tmpdir(), 'porthole-serving-'));
  try {
    const archive = join(folder, 'serving.tar');
    writeFileSync(archive, image({ reference: SERVING_IMAGE, root, entrypoint: ['/bin/sh', '-c', SERVE] }));
    await cluster.importImage(archive);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
