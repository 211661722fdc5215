import { isSandboxId } from '#adapters/sandboxes/sandbox-id.ts';
import { ANNOTATIONS, sandboxObjectName } from '#constructs/names.ts';
import type { ObjectMeta } from '../client/kubernetes-object.ts';

/** The manifest with the sandbox's id, which its name may hold only a hash of, and further annotations. */
export function annotated(manifest: object, id: string, more: Readonly<Record<string, string>> = {}): object {
  const { metadata, ...rest } = manifest as { metadata: { annotations?: Readonly<Record<string, string>> } };
  const annotations = { ...metadata.annotations, ...more, [ANNOTATIONS.sandbox]: id };
  return { ...rest, metadata: { ...metadata, annotations } };
}

/** The id of the sandbox that an object belongs to; undefined where the object is not ours. */
export function sandboxIdOf({ name, annotations, labels }: ObjectMeta): string | undefined {
  const id = annotations?.[ANNOTATIONS.sandbox];
  if (id === undefined || !isSandboxId(id) || sandboxObjectName(id) !== name) return undefined;
  return labels?.['app.kubernetes.io/managed-by'] === 'porthole' ? id : undefined;
}
