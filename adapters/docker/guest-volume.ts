import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { pack } from 'tar-stream';
import { GUEST_FOLDER } from '#protocol/guest/guest-pod.ts';
import { DOMAIN } from '#constructs/names.ts';
import { type Engine, isStatus } from './engine.ts';
import { removeContainer } from './container-state.ts';
import { unstartedContainer } from './sandbox-container.ts';
import type { SandboxVolumes } from './sandbox-volume.ts';

/** Label of volumes: the version of the guest in it. */
const VERSION = `${DOMAIN}/guest`;

/** Longest time for the engine to take 110 MB, in milliseconds. */
const FILL_MS = 300_000;

/** Time after which another host that fills the volume counts as dead, and the polling interval. */
const OTHER_MS = 60_000;
const POLL_MS = 250;

/**
 * Makes the volume with the guest's folder, read-only in every sandbox, and resolves to its name.
 * Created once per version through the engine's archive API, so that no image is pulled and nothing
 * runs. All sandboxes map the same files and share their memory.
 * @param folder of this machine; its last part is the version
 * @param image any image of the engine: a container of it is created to fill the volume, and never
 * started
 */
export async function makeGuestVolume(
  engine: Engine,
  volumes: SandboxVolumes,
  folder: string,
  image: string,
): Promise<string> {
  const name = `porthole-guest-${basename(folder)}`;
  // Volumes cannot be renamed: a second, empty volume marks the first as complete.
  const whole = `${name}-whole`;
  const labels = { [VERSION]: basename(folder) };
  const filler = `${name}-filler`;
  /** False if another host fills it: the container's name is the lock. */
  const fill = async (): Promise<boolean> => {
    await volumes.create(name, labels);
    const unstarted = unstartedContainer(filler, image, labels, { volume: name, target: GUEST_FOLDER });
    try {
      await engine.call('prepare the guest', (docker, abortSignal) =>
        docker.createContainer({ ...unstarted, abortSignal }),
      );
    } catch (error) {
      if (isStatus(error, 409)) return false;
      throw error;
    }
    try {
      await engine.call(
        'copy the guest to the engine',
        (docker, abortSignal) =>
          docker.getContainer(filler).putArchive(archiveOf(folder), { path: '/', abortSignal }),
        undefined,
        FILL_MS,
      );
    } finally {
      await removeContainer(engine, filler);
    }
    return true;
  };
  for (const until = performance.now() + OTHER_MS; ; await pause(POLL_MS)) {
    const made = await Promise.all([name, whole].map((each) => volumes.find(each)));
    if (made.every((each) => each !== undefined)) return name;
    const isLate = performance.now() > until;
    if (isLate) await removeContainer(engine, filler);
    if (await fill()) break;
    if (isLate) throw new Error(`Volume ${name} keeps being filled by another host.`);
  }
  await volumes.create(whole, labels);
  return name;
}

/** The folder as a tar archive owned by root, below the path at which sandboxes see it. */
function archiveOf(folder: string): Readable {
  const archive = pack();
  const prefix = GUEST_FOLDER.slice(1);
  const fill = async (): Promise<void> => {
    archive.entry({ name: `${prefix}/`, type: 'directory', mode: 0o755 });
    const names = await readdir(folder, { recursive: true });
    for (const each of names.toSorted()) {
      const path = join(folder, each);
      const name = `${prefix}/${each}`;
      const found = await stat(path);
      if (found.isDirectory()) archive.entry({ name: `${name}/`, type: 'directory', mode: 0o755 });
      else {
        const mode = (found.mode & 0o111) === 0 ? 0o644 : 0o755;
        await pipeline(createReadStream(path), archive.entry({ name, size: found.size, mode }));
      }
    }
    archive.finalize();
  };
  fill().catch((error: Error) => archive.destroy(error));
  return Readable.from(archive);
}
