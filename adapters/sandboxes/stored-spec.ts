import type { SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';

/**
 * What a sandbox keeps beside its files of what it was made from, so that it starts again as it
 * was. Its image is kept elsewhere.
 */
export type StoredSpec = Pick<SandboxSpec, 'resources' | 'network'>;

/** As text, for a label, an annotation or a file; undefined where there is nothing to keep. */
export function storedSpecText({ resources = {}, network = false }: StoredSpec): string | undefined {
  const { cpu, memoryMb, diskMb } = resources;
  const asked = [cpu, memoryMb, diskMb].some((value) => value !== undefined);
  if (!asked && !network) return undefined;
  return JSON.stringify({
    ...(asked && { resources: { cpu, memoryMb, diskMb } }),
    ...(network && { network }),
  });
}

/** The reverse. What is not there, or not ours, is a sandbox that asked for nothing. */
export function readStoredSpec(text: string | null | undefined): StoredSpec {
  if (text === null || text === undefined) return {};
  try {
    return checked(JSON.parse(text) as Partial<StoredSpec> | null);
  } catch {
    return {};
  }
}

function checked(read: Partial<StoredSpec> | null): StoredSpec {
  const { cpu, memoryMb, diskMb } = read?.resources ?? {};
  const resources = Object.fromEntries(
    Object.entries({ cpu, memoryMb, diskMb }).filter(
      ([, value]) => typeof value === 'number' && Number.isFinite(value) && value > 0,
    ),
  );
  return { resources, network: read?.network === true };
}
