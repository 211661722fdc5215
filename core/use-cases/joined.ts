/** By what they are done on; what nobody does any more is forgotten with its map. */
const underWay = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Does `work`, unless the same is being done in this process, on the same thing under the same key: then it waits for that. Where that fails it does it after all, because what
 * was begun earlier may have failed for what has changed since.
 */
export async function joined<T>(on: object, key: string, work: () => Promise<T>): Promise<T> {
  const own = underWay.get(on) ?? new Map<string, Promise<unknown>>();
  underWay.set(on, own);
  const other = own.get(key) as Promise<T> | undefined;
  if (other !== undefined) {
    try {
      return await other;
    } catch {
      return joined(on, key, work);
    }
  }
  const doing = work();
  own.set(key, doing);
  try {
    return await doing;
  } finally {
    own.delete(key);
  }
}
