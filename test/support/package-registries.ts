import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { END_OF_ARCHIVE, tarEntry } from '#base/tar/write-tar.ts';
import { command } from '#test/cluster/fixture/command.ts';
import { viteFolders } from '../../examples/demo/pack-vite.ts';

const ROOT = join(import.meta.dirname, '../..');
const UUID = 'github.com/google/uuid';
const DEB = 'a package of Debian\n';

/** Hosts of the registries, as tools name them by default, and of one git server. */
export const REGISTRY_HOSTS = [
  'registry.npmjs.org',
  'pypi.org',
  'files.pythonhosted.org',
  'index.crates.io',
  'static.crates.io',
  'proxy.golang.org',
  'deb.debian.org',
  'git.example.test',
] as const;

type Content = string | Buffer | (() => Promise<Buffer>);

/**
 * Registries with Vite as it is installed here, and one small package each: `six`, `itoa`, `uuid`,
 * `hello`, and a git repository `tiny`.
 * @param folder for files that are made, removed by the caller
 */
export async function packageRegistries(
  folder: string,
): Promise<(request: IncomingMessage, response: ServerResponse) => void> {
  const files = new Map<string, Content>([
    ...npmFiles(),
    ...(await pythonFiles(folder)),
    ...crateFiles(),
    ...(await goFiles(folder)),
    ...debianFiles(),
  ]);
  const repositories = await gitFolder(folder);
  return ({ url = '', headers: { host = '' } }, response) => {
    // In absolute form or in a tunnel.
    const { pathname } = new URL(url, `http://${host}`);
    const name = new URL(url, `http://${host}`).hostname;
    const send = async (): Promise<void> => {
      if (name === 'git.example.test') return void response.end(readFileSync(join(repositories, pathname)));
      const content = files.get(`${name}${decodeURIComponent(pathname)}`);
      if (content === undefined) throw new Error('no such file');
      if (name === 'pypi.org') response.setHeader('content-type', 'text/html');
      response.end(typeof content === 'function' ? await content() : content);
    };
    send().catch(() => void response.writeHead(404).end());
  };
}

/** Vite with its dependencies, packed when it is asked for. */
function npmFiles(): [string, Content][] {
  const folders = viteFolders();
  if (folders === undefined) throw new Error('Vite is not installed: npm ci');
  const registry = 'registry.npmjs.org';
  const manifests = folders.map((each) => ({
    folder: join(ROOT, each),
    manifest: JSON.parse(readFileSync(join(ROOT, each, 'package.json'), 'utf8')) as {
      readonly name: string;
      readonly version: string;
      readonly optionalDependencies?: Readonly<Record<string, string>>;
    },
  }));
  const names = new Set(manifests.map(({ manifest }) => manifest.name));
  const versions = manifests.map(({ folder, manifest: { optionalDependencies = {}, ...manifest } }) => {
    const path = `/${manifest.name}/-/${manifest.version}.tgz`;
    const pack = async (): Promise<Buffer> =>
      gzipSync(
        await tar([
          '-C',
          dirname(folder),
          `--transform=s,^${basename(folder)},package,`,
          '--exclude=node_modules',
          basename(folder),
        ]),
        { level: 1 },
      );
    const version = {
      ...manifest,
      scripts: {},
      devDependencies: {},
      // Those of other platforms are not installed here.
      optionalDependencies: Object.fromEntries(
        Object.entries(optionalDependencies).filter(([name]) => names.has(name)),
      ),
      dist: { tarball: `https://${registry}${path}` },
    };
    return { version, file: [`${registry}${path}`, pack] as [string, Content] };
  });
  const documents = [...names].map((name): [string, Content] => {
    const own = versions.map(({ version }) => version).filter((version) => version.name === name);
    const latest = own.at(-1)?.version;
    const listed = Object.fromEntries(own.map((version) => [version.version, version]));
    return [`${registry}/${name}`, JSON.stringify({ name, 'dist-tags': { latest }, versions: listed })];
  });
  return [...documents, ...versions.map(({ file }) => file)];
}

async function tar(args: readonly string[]): Promise<Buffer> {
  const text = await command(['sh', '-c', 'tar -cf - "$@" | base64 -w 0', 'sh', ...args]);
  return Buffer.from(text, 'base64');
}

async function pythonFiles(folder: string): Promise<[string, Content][]> {
  const info = 'six-1.17.0.dist-info';
  const wheel = await zip(join(folder, 'six-1.17.0-py2.py3-none-any.whl'), {
    'six.py': 'PY3 = True\n',
    [`${info}/METADATA`]: 'Metadata-Version: 2.1\nName: six\nVersion: 1.17.0\n',
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py2-none-any\nTag: py3-none-any\n',
    [`${info}/RECORD`]: `six.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`,
  });
  const name = 'six-1.17.0-py2.py3-none-any.whl';
  return [
    ['pypi.org/simple/six/', `<a href="https://files.pythonhosted.org/${name}">${name}</a>`],
    [`files.pythonhosted.org/${name}`, wheel],
  ];
}

function crateFiles(): [string, Content][] {
  const version = '1.0.15';
  const file = (path: string, text: string) =>
    tarEntry({ path: `itoa-${version}/${path}`, isExecutable: false, content: Buffer.from(text) });
  const crate = gzipSync(
    Buffer.concat([
      file('Cargo.toml', `[package]\nname = "itoa"\nversion = "${version}"\nedition = "2021"\n`),
      file('src/lib.rs', ''),
      END_OF_ARCHIVE,
    ]),
  );
  const entry = { name: 'itoa', vers: version, deps: [], cksum: sha256(crate), features: {}, yanked: false };
  return [
    ['index.crates.io/config.json', '{"dl":"https://static.crates.io/crates"}'],
    ['index.crates.io/it/oa/itoa', `${JSON.stringify(entry)}\n`],
    [`static.crates.io/crates/itoa/${version}/download`, crate],
  ];
}

async function goFiles(folder: string): Promise<[string, Content][]> {
  const version = 'v1.6.0';
  const module = `module ${UUID}\n`;
  const at = `proxy.golang.org/${UUID}/@v/${version}`;
  const archive = await zip(join(folder, 'uuid.zip'), {
    [`${UUID}@${version}/go.mod`]: module,
    [`${UUID}@${version}/uuid.go`]: 'package uuid\n',
  });
  return [
    [`${at}.info`, JSON.stringify({ Version: version, Time: '2024-01-01T00:00:00Z' })],
    [`${at}.mod`, module],
    [`${at}.zip`, archive],
  ];
}

function debianFiles(): [string, Content][] {
  const packages = `Package: hello
Version: 2.10-3
Architecture: all
Maintainer: Tests <tests@example.test>
Filename: pool/hello.deb
Size: ${DEB.length}
SHA256: ${sha256(DEB)}
Description: a package
`;
  const lists = ['amd64', 'arm64'].map((each) => `main/binary-${each}/Packages`);
  const sums = lists.map((each) => ` ${sha256(packages)} ${packages.length} ${each}\n`).join('');
  const dists = 'deb.debian.org/debian/dists/bookworm';
  return [
    [`${dists}/Release`, `Codename: bookworm\nComponents: main\nSHA256:\n${sums}`],
    ...lists.map((each): [string, Content] => [`${dists}/${each}`, packages]),
    ['deb.debian.org/debian/pool/hello.deb', DEB],
  ];
}

/** A folder of bare repositories for git's protocol of plain files. */
async function gitFolder(folder: string): Promise<string> {
  const work = join(folder, 'work');
  mkdirSync(work);
  writeFileSync(join(work, 'README'), 'tiny is here\n');
  const git = (...args: string[]) =>
    command(['git', '-c', 'user.name=x', '-c', 'user.email=x@example.test', ...args]);
  await git('-C', work, 'init', '--quiet');
  await git('-C', work, 'add', '.');
  await git('-C', work, 'commit', '--quiet', '--message=first');
  await git('clone', '--quiet', '--bare', work, join(folder, 'git', 'tiny.git'));
  await git('-C', join(folder, 'git', 'tiny.git'), 'update-server-info');
  return join(folder, 'git');
}

const ZIP = `import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for name, text in json.loads(sys.argv[2]).items(): archive.writestr(name, text)`;

async function zip(file: string, content: Readonly<Record<string, string>>): Promise<Buffer> {
  await command(['python3', '-c', ZIP, file, JSON.stringify(content)]);
  return readFileSync(file);
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
