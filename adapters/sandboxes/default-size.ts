import { SANDBOX_SIZE } from '#protocol/settings/sandbox-size.ts';
import type { SandboxSize } from '#core/sandboxes/sandbox-provider.ts';

/** The size of a sandbox that requests none, with every provider. */
export const DEFAULT_SIZE: SandboxSize = {
  cpu: SANDBOX_SIZE.cpuLimitMillis / 1_000,
  memoryMb: SANDBOX_SIZE.memoryMebibytes,
  diskMb: SANDBOX_SIZE.workspaceMebibytes,
};
