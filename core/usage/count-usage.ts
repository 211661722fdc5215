import { usageTotal } from '#protocol/guest/usage-protocol.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { everyItem } from '#base/reads.ts';
import type { Guests } from '../processes/guest.ts';
import type { Records } from '../records.ts';
import type { SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { UsageReading } from './usage-store.ts';

export interface CountUsageDeps {
  readonly records: Pick<Records, 'sandboxes' | 'usage'>;
  readonly sandboxes: Pick<SandboxProvider, 'defaultSize' | 'cpuTime'>;
  readonly guests: Guests;
  readonly clock: Clock;
  /** Called for each sandbox that could not be read; the next reading has what is missing. */
  readonly failed: (sandboxId: string, error: unknown) => void;
}

/** Guests that are asked at once. */
const AT_ONCE = 32;
/** In which a guest answers, in milliseconds. Longer at a stop: no later reading has the rest. */
const ANSWERS_WITHIN_MS = { pass: 1_500, stop: 3_000 };

/** One pass over the sandboxes of an installation. Passes may run concurrently. */
export async function countUsage(
  deps: CountUsageDeps,
  installationId: string,
  signal?: AbortSignal,
): Promise<void> {
  const { records } = deps;
  let some: SandboxRecord[] = [];
  const count = async () => {
    const readings = await Promise.all(some.map((sandbox) => readUsage(deps, sandbox, {}, signal)));
    some = [];
    await records.usage.add(readings.flat());
  };
  for await (const sandbox of everyItem((page) => records.sandboxes.live(page, installationId))) {
    signal?.throwIfAborted();
    if (some.push(sandbox) === AT_ONCE) await count();
  }
  await count();
}

/** What ends with the reading: the processes of the sandbox, and its files. */
interface Ending {
  readonly processes?: boolean;
  readonly files?: boolean;
}

/** The last reading before a stop or a deletion, which it does not fail. */
export async function countLastUsage(deps: CountUsageDeps, id: string, ending: Ending): Promise<void> {
  try {
    const sandbox = await deps.records.sandboxes.get(id);
    if (sandbox !== undefined) await deps.records.usage.add(await readUsage(deps, sandbox, ending));
  } catch (error) {
    deps.failed(id, error);
  }
}

async function readUsage(
  deps: CountUsageDeps,
  sandbox: SandboxRecord,
  { processes = false, files = false }: Ending,
  signal?: AbortSignal,
): Promise<readonly UsageReading[]> {
  const readings =
    sandbox.observed === 'running' ? await readProcesses(deps, sandbox, processes, signal) : [];
  return [...readings, ...readDisk(deps, sandbox, files)];
}

/** The disk that is reserved, from the creation to the deletion, as clouds charge for it. */
function readDisk(
  { sandboxes, clock }: CountUsageDeps,
  { id, generation, observed, createdAt, resources }: SandboxRecord,
  isLast: boolean,
): readonly UsageReading[] {
  if (observed === 'creating' || observed === 'destroyed') return [];
  const at = clock.now();
  const { diskMb = sandboxes.defaultSize.diskMb } = resources;
  const seconds = Math.max(0, at.getTime() - createdAt.getTime()) / 1_000;
  const counted = { diskGibS: (seconds * diskMb) / 1_024 };
  return [{ sandboxId: id, source: `disk:${generation}`, startedAt: createdAt, at, counted, isLast }];
}

/**
 * The guest's counters. Code in the sandbox may answer in its place, so CPU time is that of the
 * machine, where it counts it.
 */
async function readProcesses(
  { sandboxes, guests, clock, failed }: CountUsageDeps,
  { id }: SandboxRecord,
  isLast: boolean,
  signal: AbortSignal | undefined,
): Promise<readonly UsageReading[]> {
  const within = AbortSignal.timeout(ANSWERS_WITHIN_MS[isLast ? 'stop' : 'pass']);
  const until = signal === undefined ? within : AbortSignal.any([signal, within]);
  const [outside, inside] = await Promise.allSettled([
    sandboxes.cpuTime?.(id),
    guests.of(id).call('GET', '/v1/usage/total', usageTotal, { signal: until }),
  ]);
  signal?.throwIfAborted();
  for (const each of [outside, inside]) if (each.status === 'rejected') failed(id, each.reason);
  const at = clock.now();
  const cpu = outside.status === 'fulfilled' ? outside.value : undefined;
  const total = inside.status === 'fulfilled' ? inside.value.value : undefined;
  const startedAt = new Date(at.getTime() - (total?.seconds ?? 0) * 1_000);
  const common = { sandboxId: id, at, isLast };
  const readings: UsageReading[] = [];
  if (cpu !== undefined)
    readings.push({ ...common, source: `cgroup:${cpu.counter}`, startedAt, counted: { vcpuS: cpu.seconds } });
  if (total !== undefined) {
    const counted = {
      memoryGibS: total.memory_gib_s,
      ...(cpu === undefined && { vcpuS: total.cpu_s }),
      ...(total.preview_bytes !== undefined && { previewBytes: total.preview_bytes }),
    };
    readings.push({ ...common, source: `guest:${total.id}`, startedAt, counted });
  }
  return readings;
}
