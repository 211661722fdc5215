import { hostname } from 'node:os';
import { join } from 'node:path';
import { createDockerProvider, type DockerProvider } from '#adapters/docker/docker-provider.ts';
import { guestCalls } from '#adapters/guest/guest-calls.ts';
import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import type { EngineProbe } from '#adapters/docker/engine.ts';
import { addressText } from '#adapters/docker/engine-address.ts';
import { containerMountTarget } from '#adapters/mounts/container-mount-target.ts';
import { NamespaceMounter } from '#adapters/mounts/namespace-mounter.ts';
import type { Channel } from '#core/processes/guest.ts';
import { SandboxService } from '#core/sandboxes/sandbox-service.ts';
import { createAccessProvisioner } from './create-access-provisioner.ts';
import { type Config, ConfigError, type DockerOptions } from './config/config.ts';
import { type OneMachineDeps, openOneMachinePreviews } from './one-machine-previews.ts';
import { type Platform, skillsFailed } from './platform.ts';
import { recoverSandboxes } from './recover-sandboxes.ts';

/** A person waits at the terminal. */
const DRAIN_MS = 5_000;

/**
 * A container engine: sandboxes as its containers, previews served by this process. Containers
 * outlive this process: the next start finds them running.
 * @throws ConfigError if the engine is unreachable
 */
export async function openDockerPlatform(config: Config, deps: OneMachineDeps): Promise<Platform> {
  const { folder, records, tokens, clock, publisher, activity, tools, log } = deps;
  const { docker: options } = config;
  if (options === undefined) throw new Error('no configuration of the docker provider');
  const place = `docker:${hostname()}:${folder}`;
  const { docker, probe } = await openEngine(options, place, join(folder, 'channels'), tools);
  const channel: Channel = {
    async address() {
      const path = docker.channelPath();
      return path === undefined ? undefined : { kind: 'socket', path };
    },
  };
  const guests = guestCalls(docker);
  const provisionAccess = createAccessProvisioner({ records, tokens, provider: guests, channel, log });
  const mounter = new NamespaceMounter({
    target: async (id, path, signal) => containerMountTarget(id, await docker.firstProcess(id, signal), path),
    lost: (id, path, said) =>
      log.warn({ sandbox_id: id, mount_path: path, said }, 'bucket lost: s3fs has ended'),
  });
  const provider = new SandboxService({
    provider: docker,
    guests,
    records,
    clock,
    publisher,
    activity,
    provisionAccess,
    images: config.images,
    mounter,
    skillsFailed: skillsFailed(log),
  });
  const { plane, gateway, listening, end } = await openOneMachinePreviews(config, deps, provider);

  return {
    provider,
    provisionAccess,
    place,
    plane,
    mounter,
    gateway,
    warnings: () => probe.warnings,
    describe: () => Promise.resolve(describe(options, probe)),
    listening,
    openChannels: (services) => docker.serveChannels(services),
    certificatesChanged: (id) => docker.writeCertificates(id),
    brokersNetwork: () => Promise.resolve(docker.brokersNetwork()),
    isAtAddress: () => Promise.resolve(false),
    drainMs: DRAIN_MS,
    recover: (signal) =>
      recoverSandboxes({ records, provider: provider.for('control'), place, clock, log }, signal),
    async close() {
      await end();
      await mounter.close();
      await provider.close();
    },
  };
}

async function openEngine(
  { address, certificates, ...options }: DockerOptions,
  installation: string,
  channels: string,
  tools: MachineTools,
): Promise<{ readonly docker: DockerProvider; readonly probe: EngineProbe }> {
  const where = addressText(address);
  let docker: DockerProvider | undefined;
  try {
    docker = createDockerProvider({
      ...options,
      engine: { address, certificates },
      installation,
      channels,
      tools,
    });
    return { docker, probe: await docker.probe() };
  } catch (error) {
    await docker?.close();
    throw new ConfigError([
      `PORTHOLE_PROVIDER: docker, but the container engine at ${where} cannot be used (${(error as Error).message}): start Docker, let this user reach it, or set DOCKER_HOST`,
    ]);
  }
}

/** The enforced limits, for people. */
function describe(
  { limits, network }: DockerOptions,
  { name, cpus, unenforced, hasQuotas }: EngineProbe,
): string {
  const bounds = [
    ...(unenforced.includes('cpus') ? [] : [`${Math.min(limits.cpu, cpus)} cores`]),
    ...(unenforced.includes('memory') ? [] : [`${limits.memoryMb} MiB of memory`]),
    ...(unenforced.includes('pids') ? [] : [`${limits.pids} processes`]),
    `${limits.diskMb} MiB ${hasQuotas ? 'of disk' : 'a file'}`,
  ];
  const net = network === 'none' ? 'no network' : `network ${network}`;
  return `docker, containers of ${name}: ${bounds.join(', ')}, ${net}`;
}
