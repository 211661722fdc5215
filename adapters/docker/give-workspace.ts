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

/** Name of the container through which a volume's owner is changed; it is never started. */
export function giverName(volume: string): string {
  return `${volume}-giver`;
}

/**
 * Makes the sandbox's user own a volume's root folder, without running anything of the image: the
 * engine unpacks an archive into a container that is never started. An engine cannot unpack over
 * the root of a volume, nor beside volumes into a container with a read-only root, so this is not
 * the sandbox's own container. Idempotent after a crash.
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
 * For the volume of the guest's state, in a container that is about to start. Existing content
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
