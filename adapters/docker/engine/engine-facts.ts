import type { Engine } from './engine.ts';

/** What an engine can enforce, and on what. */
export interface EngineFacts {
  /** E.g. `Docker 27.3.1`. */
  readonly name: string;
  /** Cores of its machine. */
  readonly cpus: number;
  /** Limits that its kernel does not know, in words of ours: `cpus`, `memory`, `pids`. */
  readonly unenforced: readonly string[];
  /** Whether it starts containers under its seccomp profile. */
  readonly filtersSystemCalls: boolean;
}

/** What is read of an engine's account of itself. Fields that it leaves out are taken to be well. */
interface Info {
  readonly ServerVersion?: string;
  readonly NCPU?: number;
  readonly MemoryLimit?: boolean;
  readonly PidsLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly SecurityOptions?: readonly string[];
}

export async function engineFacts(engine: Engine, signal?: AbortSignal): Promise<EngineFacts> {
  const info = await engine.call<Info>(
    'ask the engine about itself',
    (docker) => docker.info() as Promise<Info>,
    signal,
  );
  const unenforced = [
    ...(info.CpuCfsQuota === false ? ['cpus'] : []),
    ...(info.MemoryLimit === false ? ['memory'] : []),
    ...(info.PidsLimit === false ? ['pids'] : []),
  ];
  return {
    name: `Docker ${info.ServerVersion ?? ''}`.trim(),
    cpus: info.NCPU ?? Infinity,
    unenforced,
    filtersSystemCalls:
      info.SecurityOptions?.some((option) => /^name=seccomp(?!.*profile=unconfined)/.test(option)) ?? true,
  };
}
