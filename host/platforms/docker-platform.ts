import { hostname } from 'node:os';
import { join } from 'node:path';
import { DockerProvider } from '#adapters/docker/docker-provider.ts';
import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import type { EngineProbe } from '#adapters/docker/engine.ts';
import { addressText } from '#adapters/docker/engine-address.ts';
import { containerMountTarget } from '#adapters/mounts/container-mount-target.ts';
import { type Config, type DockerOptions } from '../config/config.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';
import { type OneMachineDeps, openOneMachine } from './one-machine.ts';
import type { Platform } from './platform.ts';

/**
 * A container engine: sandboxes as its containers, previews served by this process. Containers
 * outlive this process: the next start finds them running.
 * @throws ConfigError if the engine is unreachable
 */
export async function openDockerPlatform(config: Config, deps: OneMachineDeps): Promise<Platform> {
  const { folder, tools } = deps;
  const { docker: options } = config;
  if (options === undefined) throw new Error('no configuration of the docker provider');
  const installationId = `docker:${hostname()}:${folder}`;
  const { docker, probe } = await openEngine(options, installationId, join(folder, 'channels'), tools);
  const machine = await openOneMachine(config, deps, {
    provider: docker,
    installationId,
    target: async (id, path, signal) => containerMountTarget(id, await docker.firstProcess(id, signal), path),
  });
  return {
    ...machine,
    warnings: () => probe.warnings,
    describe: () => Promise.resolve(describe(options, probe)),
    brokersNetwork: () => Promise.resolve(docker.brokersNetwork()),
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
    docker = new DockerProvider({
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
