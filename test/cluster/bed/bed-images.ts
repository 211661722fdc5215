import { readFileSync } from 'node:fs';
import { command } from './command.ts';
import { PAUSE_IMAGE } from './configurations.ts';
import { image } from './image.ts';
import type { TarEntry } from './tar.ts';

/** A shell, httpd, wget, nc and the like, for pods of tests; it runs as any user. */
export const BUSYBOX_IMAGE = 'porthole.test/busybox:1';

/** Where Debian's busybox-static puts its one program. */
export const BUSYBOX = '/bin/busybox';

/** The archives of the images that every bed has, by file name. Both are the machine's own static busybox. */
export async function bedImages(): Promise<Record<string, Uint8Array>> {
  const entries = await busyboxEntries();
  return {
    'pause.tar': image({
      reference: PAUSE_IMAGE,
      root: entries.filter(({ path }) => path === 'bin/' || path === 'bin/busybox'),
      entrypoint: ['/bin/busybox', 'sleep', '2147483647'],
    }),
    'busybox.tar': image({ reference: BUSYBOX_IMAGE, root: entries, command: ['/bin/sh'] }),
  };
}

/** A root folder with busybox and links for all that it can do. */
export async function busyboxEntries(): Promise<TarEntry[]> {
  const applets = (await command([BUSYBOX, '--list']))
    .split('\n')
    .filter((name) => name !== '' && name !== 'busybox');
  const folder = (path: string, mode = 0o755): TarEntry => ({ kind: 'folder', path, mode });
  const accounts = Buffer.from('root:x:0:0::/root:/bin/sh\nsandbox:x:1000:1000::/tmp:/bin/sh\n');
  return [
    ...['bin/', 'etc/', 'root/'].map((path) => folder(path)),
    folder('tmp/', 0o1777),
    { kind: 'file', path: 'etc/passwd', mode: 0o644, content: accounts },
    { kind: 'file', path: 'bin/busybox', mode: 0o755, content: readFileSync(BUSYBOX) },
    ...applets.map((name): TarEntry => ({ kind: 'link', path: `bin/${name}`, target: 'busybox' })),
  ];
}
