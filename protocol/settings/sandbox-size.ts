/**
 * The default size of a sandbox's pod, which is also the maximum that the functions may request.
 */
export const SANDBOX_SIZE = {
  /** Thousandths of a core. */
  cpuLimitMillis: 2_000,
  memoryMebibytes: 2_048,
  /** Of `/workspace`, in MiB. */
  workspaceMebibytes: 10_240,
  /** Of `/tmp`, and of the home folder, in MiB. */
  scratchMebibytes: 2_048,
  /** Processes and threads of a container: an eighth of a kernel's default. */
  pids: 4_096,
} as const;
