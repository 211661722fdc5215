/** JSON Patch (RFC 6902) like kube-apiserver: on a copy, atomic. */
type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** @throws Error naming the operation that does not apply */
export function applyJsonPatch(document: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw new Error('a JSON patch is a list of operations');
  const root = { document: structuredClone(document) as Json };
  for (const operation of operations as Record<string, unknown>[]) applyOne(root, operation);
  return root.document;
}

function applyOne(root: { document: Json }, { op, path, from, value }: Record<string, unknown>): void {
  const at = place(root, path);
  switch (op) {
    case 'test':
      if (JSON.stringify(at.get()) !== JSON.stringify(value))
        throw new Error(`testing value ${String(path)} failed`);
      return;
    case 'add':
      return at.set(value as Json);
    case 'replace':
      at.get();
      return at.set(value as Json);
    case 'remove':
      at.get();
      return at.remove();
    case 'copy':
      return at.set(structuredClone(place(root, from).get()));
    default:
      throw new Error(`unexpected operation ${String(op)}`);
  }
}

function place(root: { document: Json }, path: unknown) {
  if (typeof path !== 'string' || !path.startsWith('/')) throw new Error(`bad path ${String(path)}`);
  const keys = path
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() as string;
  let parent: Json = root.document;
  for (const key of keys) {
    parent = (parent as Record<string, Json> | null)?.[key] ?? null;
    if (parent === null || typeof parent !== 'object') throw new Error(`doc is missing path: ${path}`);
  }
  const holder = parent as Record<string, Json>;
  return {
    get(): Json {
      if (!Object.hasOwn(holder, last)) throw new Error(`doc is missing key: ${path}`);
      return holder[last] as Json;
    },
    set(value: Json): void {
      holder[last] = value;
    },
    remove(): void {
      delete holder[last];
    },
  };
}

/** JSON Merge Patch (RFC 7386). */
export function applyMergePatch(document: unknown, change: unknown): unknown {
  if (typeof change !== 'object' || change === null || Array.isArray(change)) return change;
  const isObject = typeof document === 'object' && document !== null && !Array.isArray(document);
  const result: Record<string, unknown> = isObject ? { ...document } : {};
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}
