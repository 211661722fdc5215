/** What one kind of page holds that is not saved, by a name of what it is a change of. */
export interface Unsaved<T> {
  get(name: string): T | undefined;
  /** Undefined: there is nothing to lose any more. */
  keep(name: string, value: T | undefined): void;
}

let kept = 0;

/**
 * Keeps what is not saved while this page lives and nowhere else: it survives navigation in the
 * console and a new sign-in. The browser asks before all of
 * it is lost.
 */
export function unsaved<T>(): Unsaved<T> {
  const values = new Map<string, T>();
  return {
    get: (name) => values.get(name),
    keep(name, value) {
      const before = values.size;
      if (value === undefined) values.delete(name);
      else values.set(name, value);
      kept += values.size - before;
      if (kept === 0) removeEventListener('beforeunload', warn);
      else addEventListener('beforeunload', warn);
    },
  };
}

/**
 * Only while there is something to lose: a page that listens for it cannot be kept for going back.
 */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
