import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { Engine } from './engine.ts';
import { removeContainer } from './container-state.ts';
import { STATE_FOLDER, USER, WORKSPACE } from './sandbox-container.ts';

export interface GiveWorkspaceRequest {
  readonly volume: string;
  readonly image: string;
  readonly labels: Record<string, string>;
}

/** Of the container through which a volume is given away; it is never started. */
export function giverName(volume: string): string {
  return `${volume}-giver`;
}

/**
 * Makes the folder of a volume its user's. Nothing of the image runs for that: the engine itself
 * unpacks an archive into a container that is made for it and never started. It unpacks none over
 * the root of a volume, and nothing beside volumes into a container with a read-only root; so it is
 * not the sandbox's own. May be repeated after a crash.
 */
export async function giveWorkspace(
  engine: Engine,
  { volume, image, labels }: GiveWorkspaceRequest,
  signal?: AbortSignal,
): Promise<void> {
  const name = giverName(volume);
  await removeContainer(engine, name, signal);
  try {
    await engine.call(
      'give /workspace to its user',
      async (docker, abortSignal) => {
        const giver = await docker.createContainer({
          name,
          Image: image,
          Entrypoint: ['false'],
          Labels: labels,
          HostConfig: {
            NetworkMode: 'none',
            Mounts: [{ Type: 'volume', Source: volume, Target: WORKSPACE, ReadOnly: false }],
          },
          abortSignal,
        });
        await giver.putArchive(await ownedFolder(WORKSPACE.slice(1), 0o755), { path: '/', abortSignal });
      },
      signal,
    );
  } finally {
    await removeContainer(engine, name);
  }
}

/**
 * For the volume of the guest's state, in a container that is about to start. What the folder holds
 * stays.
 */
export function ownedState(): Promise<Buffer> {
  return ownedFolder(STATE_FOLDER, 0o700);
}

function ownedFolder(name: string, mode: number): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: `${name}/`, type: 'directory', uid: USER, gid: USER, mode });
  archive.finalize();
  return buffer(archive);
}
