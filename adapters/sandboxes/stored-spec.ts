import type { SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';

/**
 * The part of a sandbox's spec that is stored beside its files, so that it restarts unchanged. Its
 * image is stored elsewhere.
 */
export type StoredSpec = Pick<SandboxSpec, 'resources' | 'network'>;

/** As text for a label, an annotation or a file; undefined if there is nothing to store. */
export function storedSpecText({ resources = {}, network = false }: StoredSpec): string | undefined {
  const { cpu, memoryMb, diskMb } = resources;
  const asked = [cpu, memoryMb, diskMb].some((value) => value !== undefined);
  if (!asked && !network) return undefined;
  return JSON.stringify({
    ...(asked && { resources: { cpu, memoryMb, diskMb } }),
    ...(network && { network }),
  });
}

/** The reverse. Missing or foreign text means a sandbox without any of these settings. */
export function readStoredSpec(text: string | null | undefined): StoredSpec {
  try {
    const read = JSON.parse(text ?? '{}') as Partial<StoredSpec> | null;
    const { cpu, memoryMb, diskMb } = read?.resources ?? {};
    const resources = Object.entries({ cpu, memoryMb, diskMb }).filter(
      ([, value]) => typeof value === 'number' && Number.isFinite(value) && value > 0,
    );
    return { resources: Object.fromEntries(resources), network: read?.network === true };
  } catch {
    return {};
  }
}
