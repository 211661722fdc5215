/** Opens at the first call; all later ones share it. One that failed is forgotten, so that a database that was away for a moment spoils no process. */
export function onceOpen<T>(open: () => Promise<T>): () => Promise<T> {
  let opening: Promise<T> | undefined;
  return () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
}
