/**
 * A SandboxProvider for Podman, as an example of a further provider (`docs/guides/providers.md`).
 * Podman serves Docker's API, except for some settings of containers, which its own API makes.
 *
 *     const provider = new PodmanProvider({ socket, installation, image });
 */
import {
  ContainerLife,
  type ContainerLifeOptions,
  type NewContainer,
} from '#adapters/docker/container-life.ts';
import { DockerProvider } from '#adapters/docker/docker-provider.ts';
import {
  guestProcess,
  HOME,
  STATE_VOLUME,
  stateVolume,
  USER,
  WORKSPACE,
} from '#adapters/docker/sandbox-container.ts';
import { sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import type { GuestConnection } from '#core/sandboxes/sandbox-provider.ts';
import { GUEST_COMMAND, GUEST_FOLDER } from '#protocol/guest/guest-pod.ts';

export interface PodmanProviderOptions {
  /** Path of the socket of `podman system service`, which runs as root on this machine. */
  readonly socket: string;
  /** Distinguishes this installation from others on the same Podman. */
  readonly installation: string;
  /** Image of sandboxes that name no image. */
  readonly image: string;
}

export class PodmanProvider extends DockerProvider {
  override readonly name = 'podman';

  constructor({ socket, installation, image }: PodmanProviderOptions) {
    super({
      engine: { address: { kind: 'socket', path: socket } },
      installation,
      image,
      // It takes a size for an option of mount(8).
      hasQuotas: false,
      containers: (options) => new PodmanContainers(options),
    });
  }

  /** The stream of an exec may outlive its container: the state says more then. */
  override async connect(id: string, operation: string, signal?: AbortSignal): Promise<GuestConnection> {
    try {
      return await super.connect(id, operation, signal);
    } catch (error) {
      signal?.throwIfAborted();
      const { state, reason = 'it is stopped; resume it first' } = await this.inspect(id);
      throw state === 'stopped' ? sandboxNotRunning(id, reason, error) : error;
    }
  }
}

/** Path of Podman's own API; Docker's API has no such prefix. */
const CREATE = '/v4.0.0/libpod/containers/create?';

const MIB = 1024 * 1024;

/** The period of the kernel's scheduler for limits of CPU time, in microseconds. */
const PERIOD = 100_000;

/**
 * Podman's defaults for files and processes fail where it runs without CAP_SYS_RESOURCE. The kernel
 * counts `nproc` for a user, so for all sandboxes together; the cgroup limits each.
 */
const RLIMITS = { core: 0, nofile: 16_384, nproc: 32_768 };

class PodmanContainers extends ContainerLife {
  readonly #options: Pick<ContainerLifeOptions, 'engine' | 'guest'>;

  constructor(options: ContainerLifeOptions) {
    super(options);
    this.#options = options;
  }

  /** Its folder on this machine. */
  protected override guestSource(): Promise<string> {
    return this.#options.guest();
  }

  protected override async makeContainer(container: NewContainer, signal?: AbortSignal): Promise<void> {
    const body = podmanContainer(container);
    await this.#options.engine.call(
      `create container ${container.name}`,
      ({ modem }, abortSignal) =>
        new Promise<void>((resolve, reject) => {
          const request = { method: 'POST', path: CREATE, statusCodes: { 201: true }, abortSignal };
          const answered = (error: Error | null): void => (error === null ? resolve() : reject(error));
          modem.dial({ ...request, options: { _query: {}, _body: body } }, answered);
        }),
      signal,
    );
  }

  /** Podman makes the user of the first container the owner of a new volume. */
  protected override async giveState(): Promise<void> {}
}

/** A SpecGenerator of Podman. */
function podmanContainer(container: NewContainer): object {
  const { name, image, labels, limits, guestSource } = container;
  const { settings, env } = guestProcess(container);
  const memory = limits.memoryMb * MIB;
  const tmpfs = (destination: string) => ({
    destination,
    type: 'tmpfs',
    source: 'tmpfs',
    options: ['rw', 'exec', 'nosuid', 'nodev', 'mode=1777', `size=${Math.ceil(memory / 4)}`],
  });
  return {
    name,
    image,
    labels,
    entrypoint: GUEST_COMMAND,
    command: [settings],
    env: Object.fromEntries(env.map((each) => each.split(/=(.*)/s, 2))),
    unsetenvall: true,
    user: `${USER}:${USER}`,
    // Podman starts nothing in a folder that its user has made inaccessible.
    work_dir: '/',
    read_only_filesystem: true,
    no_new_privileges: true,
    cap_drop: ['all'],
    netns: { nsmode: 'none' },
    systemd: 'false',
    stop_timeout: 0,
    image_volume_mode: 'ignore',
    healthconfig: { Test: ['NONE'] },
    log_configuration: { driver: 'none' },
    resource_limits: {
      cpu: { period: PERIOD, quota: Math.round(limits.cpu * PERIOD) },
      memory: { limit: memory, swap: memory },
      pids: { limit: limits.pids },
    },
    r_limits: Object.entries({ ...RLIMITS, fsize: limits.diskMb * MIB }).map(([type, most]) => ({
      type,
      soft: most,
      hard: most,
    })),
    volumes: [
      { Name: name, Dest: WORKSPACE },
      { Name: stateVolume(name), Dest: STATE_VOLUME },
    ],
    mounts: [
      tmpfs('/tmp'),
      tmpfs(HOME),
      {
        destination: GUEST_FOLDER,
        type: 'bind',
        source: guestSource,
        options: ['ro', 'rbind', 'nosuid', 'nodev'],
      },
    ],
  };
}
