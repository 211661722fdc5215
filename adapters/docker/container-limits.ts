import type { SandboxSize } from '#core/sandboxes/sandbox-provider.ts';
import { SANDBOX_SIZE } from '#constructs/sandbox-size.ts';

/** What one sandbox may use. */
export interface SandboxLimits {
  /** Cores; may be a fraction. Held to what the engine's machine has. */
  readonly cpus: number;
  /** In MiB, with /tmp and the home folder, which lie in memory; none of it is swapped. */
  readonly memoryMebibytes: number;
  /** Processes and threads. */
  readonly pids: number;
  /**
   * Of /workspace, in MiB; enforced where the engine's volumes know quotas. No single file is
   * larger anywhere.
   */
  readonly diskMebibytes: number;
}

/** What a sandbox may use that asked for this. */
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

/**
 * As on a cluster; and the processes of a large build, an eighth of what a kernel has by default.
 */
export const DEFAULT_LIMITS: SandboxLimits = {
  cpus: SANDBOX_SIZE.cpuLimitMillis / 1_000,
  memoryMebibytes: SANDBOX_SIZE.memoryMebibytes,
  pids: 4_096,
  diskMebibytes: SANDBOX_SIZE.workspaceMebibytes,
};
