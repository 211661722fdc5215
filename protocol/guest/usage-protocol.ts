/** `GET /v1/usage`: what the sandbox uses now. `GET /v1/usage/total`: since the guest's start. */
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

/** Counters that never decrease. */
export const usageTotal = z.object({
  /** Of the guest's start: with another, they have begun again. */
  id: z.string().check(z.regex(/^[\w-]{1,64}$/)),
  /** Seconds since the start. */
  seconds: z.number().check(z.nonnegative()),
  /** CPU time in seconds. */
  cpu_s: z.number().check(z.nonnegative()),
  /** GiB seconds of memory, as `memory_bytes` above. */
  memory_gib_s: z.number().check(z.nonnegative()),
  /** Bytes of previews that it serves, in both directions. Absent: it serves none. */
  preview_bytes: z.optional(bytes),
});

export type UsageTotal = z.infer<typeof usageTotal>;
