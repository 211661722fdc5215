/** `GET /v1/usage`: what the sandbox uses now. */
import * as z from 'zod/mini';

const bytes = z.int().check(z.nonnegative());

export const usageReport = z.object({
  /** CPUs since the previous answer, a second ago or more. */
  cpus: z.number().check(z.nonnegative()),
  /** Of its processes, without files in memory. */
  memory_bytes: bytes,
  /** Files in memory; null where the cgroup is not visible inside. */
  cache_bytes: z.nullable(bytes),
  /** Null: without a limit. */
  memory_limit_bytes: z.nullable(bytes),
  /** The disk of the workspace, as `df` shows it. */
  disk_bytes: bytes,
  disk_used_bytes: bytes,
});

export type UsageReport = z.infer<typeof usageReport>;
