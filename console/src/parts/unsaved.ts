let kept = 0;

/**
 * Keeps unsaved state of one kind of page, by the name of what it changes, in this page's memory
 * only: it survives navigation in the console and a new sign-in. The browser warns before it goes.
 */
export function unsaved<T>() {
  const values = new Map<string, T>();
  return {
    get: (name: string) => values.get(name),
    /** Keeps each value by a new name; undefined: its name stays. */
    rename(nameAfter: (name: string) => string | undefined) {
      for (const [name, value] of values) {
        const next = nameAfter(name);
        if (next === undefined) continue;
        this.keep(name, undefined);
        this.keep(next, value);
      }
    },
    /** Undefined: nothing unsaved. */
    keep(name: string, value: T | undefined) {
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
