import { createHash } from 'node:crypto';
import { type TarEntry, tar } from './tar.ts';

export interface ImageOptions {
  /** Full name with tag, such as `porthole.test/box:1`. Any tag but `latest` is never pulled when it is there. */
  readonly reference: string;
  /** What the root folder holds: entries, or a tar archive of a root file system. */
  readonly root: readonly TarEntry[] | Uint8Array;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** User and group of the process, as in `1000:1000`; root when left out. */
  readonly user?: string;
  readonly workingFolder?: string;
  /** `NAME=value` each. */
  readonly env?: readonly string[];
}

/** An image of one layer as the archive that `docker load` and `ctr images import` read. */
export function image(options: ImageOptions): Uint8Array {
  const { reference, root, entrypoint, command, user, workingFolder, env = [] } = options;
  const layer = root instanceof Uint8Array ? root : tar(root);
  const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const configuration = encode({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {
      Entrypoint: entrypoint,
      Cmd: command,
      User: user,
      WorkingDir: workingFolder,
      Env: [path, ...env],
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest(layer)}`] },
  });
  const configurationFile = `${digest(configuration)}.json`;
  const manifest = encode([{ Config: configurationFile, RepoTags: [reference], Layers: ['layer.tar'] }]);
  const file = (name: string, content: Uint8Array): TarEntry => ({
    kind: 'file',
    path: name,
    mode: 0o644,
    content,
  });
  return tar([
    file('manifest.json', manifest),
    file(configurationFile, configuration),
    file('layer.tar', layer),
  ]);
}

function encode(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
