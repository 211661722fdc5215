import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import Docker from 'dockerode';
import { DockerProvider, type DockerProviderOptions } from '#adapters/docker/docker-provider.ts';
import { guestCache, guestRuntime } from '#adapters/guest/guest-runtime.ts';
import { sandboxImage } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { BUSYBOX, BUSYBOX_IMAGE, fixtureImages } from '#test/cluster/fixture/fixture-images.ts';
import { image } from '#test/cluster/fixture/image.ts';
import { exclusive } from '#test/cluster/fixture/exclusive.ts';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import type { Build } from '#test/cluster/images/built-images.ts';
import { startDockerEngine } from '#test/cluster/images/docker-engine.ts';
import { findProgram } from '#test/cluster/images/find-program.ts';
import type { Missing } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

/**
 * perl carries the streams to ports; without it node would. The rest is part of Debian images as
 * well.
 */
const MORE_PROGRAMS = 'cut nohup perl realpath tee timeout uname uniq xargs'.split(' ');

/**
 * bash, tar, node and the other commands of the contracts, as on this machine; the name changes
 * with the content.
 */
const IMAGE = `porthole.test/docker-sandbox:${createHash('sha256')
  .update(process.version)
  .update(readFileSync(new URL('../../adapters/kubernetes/sandboxes/sandbox-image.ts', import.meta.url)))
  .update(String(MORE_PROGRAMS))
  .digest('hex')
  .slice(0, 16)}`;

/** A container engine for the tests, with images that need no registry. */
export interface TestEngine {
  /** The value of `DOCKER_HOST`. */
  readonly host: string;
  readonly docker: Docker;
  /** Image of sandboxes. */
  readonly image: string;
  /** A shell and busybox's programs: no bash, no perl, no /workspace. */
  readonly plainImage: string;
  /** Creates an image with only busybox, in its root folder; returns its name. */
  loadProgram(name: string, env: readonly string[]): Promise<string>;
  /** A provider with a separate installation and folder; the caller closes it. */
  openProvider(options?: Partial<DockerProviderOptions>): DockerProvider & TestProvider;
  /** Loads an image of ours, unless an earlier run has; returns its reference. */
  loadBuilt(build: Build): Promise<string>;
  /** Kills the engine with everything it runs, as a crash does, and starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Why no engine can be started here, with the remedy. */
export function engineMissing(): Missing {
  if (process.platform !== 'linux') return `the test engine runs on Linux, not on ${process.platform}`;
  if (process.geteuid?.() !== 0) return 'a container engine needs root: run it with sudo';
  if (findProgram('dockerd').length === 0) return 'dockerd is missing: apt-get install docker.io';
  return undefined;
}

/** Starts the engine, or waits for the lock: one engine at a time on a machine. */
export async function openTestEngine(): Promise<TestEngine> {
  const folder = join(cacheFolder(), 'docker');
  const opened = Promise.withResolvers<TestEngine>();
  const released = Promise.withResolvers<void>();
  const held = exclusive(folder, say, async () => {
    let engine = await startDockerEngine(join(folder, 'data'));
    const folders = mkdtempSync(join(tmpdir(), 'porthole-docker-channels-'));
    try {
      const docker = new Docker({ socketPath: engine.socket });
      await loadImages(docker);
      opened.resolve({
        host: `unix://${engine.socket}`,
        docker,
        image: IMAGE,
        plainImage: BUSYBOX_IMAGE,
        loadProgram: async (name, env) => {
          const reference = `porthole.test/program-${name}:1`;
          const app = { kind: 'file', path: 'busybox', mode: 0o755, content: readFileSync(BUSYBOX) } as const;
          await load(docker, image({ reference, root: [app], env }));
          return reference;
        },
        openProvider: (options = {}) => {
          const channels = mkdtempSync(join(folders, 'installation-'));
          return withGuests(
            new DockerProvider({
              engine: { address: { kind: 'socket', path: engine.socket } },
              installation: channels,
              image: IMAGE,
              channels,
              ...options,
            }),
          );
        },
        async loadBuilt({ reference, archive }) {
          if (await has(docker, reference)) return reference;
          const filters = JSON.stringify({ reference: [reference.replace(/:[^:]*$/, '')] });
          const earlier = await docker.listImages({ filters });
          // Before those are removed: it takes over most of their layers.
          await load(docker, createReadStream(archive));
          for (const tag of earlier.flatMap(({ RepoTags }) => RepoTags ?? []))
            await docker.getImage(tag).remove({ force: true });
          return reference;
        },
        restart: async () => {
          await engine.stop();
          engine = await startDockerEngine(join(folder, 'data'));
        },
        stop: async () => {
          released.resolve();
          await held;
        },
      });
      await released.promise;
    } finally {
      await engine.stop();
      rmSync(folders, { recursive: true, force: true });
    }
  });
  held.catch((error: unknown) => opened.reject(error));
  return opened.promise;
}

/**
 * Images and the volume of this guest stay in the engine's folder for the next run. Containers and
 * all other volumes are removed.
 */
async function loadImages(docker: Docker): Promise<void> {
  for (const { Id } of await docker.listContainers({ all: true })) {
    await docker.getContainer(Id).remove({ force: true });
  }
  const guest = basename(await guestRuntime(guestCache(process.env)));
  for (const { Name } of (await docker.listVolumes()).Volumes)
    if (!Name.startsWith(`porthole-guest-${guest}`)) await docker.getVolume(Name).remove();
  const busybox = (await fixtureImages())['busybox.tar'] ?? new Uint8Array();
  if (!(await has(docker, BUSYBOX_IMAGE))) await load(docker, busybox);
  if (await has(docker, IMAGE)) return;
  await docker.pruneImages({ filters: { dangling: ['false'] } });
  await load(docker, busybox);
  await load(docker, await sandboxImage(IMAGE, MORE_PROGRAMS));
}

async function has(docker: Docker, image: string): Promise<boolean> {
  return docker
    .getImage(image)
    .inspect()
    .then(
      () => true,
      () => false,
    );
}

async function load(docker: Docker, archive: Uint8Array | Readable): Promise<void> {
  const reported = await docker.loadImage(archive instanceof Readable ? archive : Readable.from([archive]));
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(reported, (error: Error | null, steps: { readonly error?: string }[]) => {
      const failed = error?.message ?? steps.find((step) => step.error !== undefined)?.error;
      if (failed === undefined) resolve();
      else reject(new Error(failed));
    });
  });
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
