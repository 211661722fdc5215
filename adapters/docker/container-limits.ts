import { SANDBOX_SIZE } from '#protocol/settings/sandbox-size.ts';
import { DEFAULT_SIZE } from '#adapters/sandboxes/default-size.ts';
import type { SandboxSize } from '#core/sandboxes/sandbox-provider.ts';

/**
 * Limits of one sandbox. Cores are capped at those of the engine's machine. Memory includes /tmp
 * and the home folder, and is never swapped. The disk's is enforced if the engine's volumes support
 * quotas, and for each single file.
 */
export interface SandboxLimits extends SandboxSize {
  /** Processes and threads. */
  readonly pids: number;
}

/** The same as in a cluster; processes of a large build, an eighth of a kernel's default. */
export const DEFAULT_LIMITS: SandboxLimits = { ...DEFAULT_SIZE, pids: SANDBOX_SIZE.pids };
