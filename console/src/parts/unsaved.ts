/** Unsaved state of one kind of page, by the name of what it changes. */
export interface Unsaved<T> {
  get(name: string): T | undefined;
  /** Undefined: nothing unsaved. */
  keep(name: string, value: T | undefined): void;
  /** Keeps each value by a new name; undefined: its name stays. */
  rename(nameAfter: (name: string) => string | undefined): void;
}

let kept = 0;

/**
 * Keeps unsaved state in this page's memory only: it survives navigation in the console and a new
 * sign-in. The browser warns before it is lost.
 */
export function unsaved<T>(): Unsaved<T> {
  const values = new Map<string, T>();
  return {
    get: (name) => values.get(name),
    rename(nameAfter) {
      for (const [name, value] of values) {
        const next = nameAfter(name);
        if (next === undefined) continue;
        this.keep(name, undefined);
        this.keep(next, value);
      }
    },
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

/** Only with unsaved state: a page with this listener is excluded from the back/forward cache. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
