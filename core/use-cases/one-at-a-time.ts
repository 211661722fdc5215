/** By what they are done on; what nobody does any more is forgotten with its map. */
const turns = new WeakMap<object, Map<string, Promise<unknown>>>();

/** Does `work` once all that was begun before it in this process, on the same thing under the same key, is over; its outcome is nobody else's. */
export async function oneAtATime<T>(on: object, key: string, work: () => Promise<T>): Promise<T> {
  const own = turns.get(on) ?? new Map<string, Promise<unknown>>();
  turns.set(on, own);
  const turn = (own.get(key) ?? Promise.resolve()).then(work, work);
  own.set(key, turn);
  try {
    return await turn;
  } finally {
    if (own.get(key) === turn) own.delete(key);
  }
}
