import type { SandboxSize } from '#core/sandboxes/sandbox-provider.ts';
import { SANDBOX_SIZE } from '#constructs/sandbox-size.ts';

/** Limits of one sandbox. */
export interface SandboxLimits {
  /** Cores; may be fractional. Capped at the cores of the engine's machine. */
  readonly cpus: number;
  /** In MiB, including /tmp and the home folder, which are in memory; never swapped. */
  readonly memoryMebibytes: number;
  /** Processes and threads. */
  readonly pids: number;
  /**
   * Of /workspace, in MiB; enforced if the engine's volumes support quotas. Also the largest size
   * of any single file.
   */
  readonly diskMebibytes: number;
}

/** Limits of a sandbox that asks for these resources. */
export function limitsOf(
  { cpu, memoryMb, diskMb }: Partial<SandboxSize> = {},
  defaults: SandboxLimits,
): SandboxLimits {
  return {
    ...defaults,
    cpus: cpu ?? defaults.cpus,
    memoryMebibytes: memoryMb ?? defaults.memoryMebibytes,
    diskMebibytes: diskMb ?? defaults.diskMebibytes,
  };
}

/** The same as in a cluster; processes of a large build, an eighth of a kernel's default. */
export const DEFAULT_LIMITS: SandboxLimits = {
  cpus: SANDBOX_SIZE.cpuLimitMillis / 1_000,
  memoryMebibytes: SANDBOX_SIZE.memoryMebibytes,
  pids: 4_096,
  diskMebibytes: SANDBOX_SIZE.workspaceMebibytes,
};
