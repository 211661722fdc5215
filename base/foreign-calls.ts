/** Functions of the C library that Node does not offer, for the guest and for hosts. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export interface Library {
  func(name: string, result: string, parameters: readonly string[]): (...values: unknown[]) => number;
}

const require = createRequire(import.meta.url);

/** The file of the foreign function interface; undefined where its package is not installed. */
export function findCallsAddon(): string | undefined {
  try {
    return require.resolve(`@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`);
  } catch {
    return undefined;
  }
}

/** @throws Error if the addon is neither beside the guest's program nor installed */
export function loadLibrary(): Library {
  const own = join(import.meta.dirname, 'calls.node');
  const addon = existsSync(own) ? own : (findCallsAddon() ?? own);
  return (require(addon) as { load(library: null): Library }).load(null);
}

/** What `open` makes of the library, at the first call; undefined where that fails. */
export function ofLibrary<T>(open: (libc: Library) => T): () => T | undefined {
  let isOpen = false;
  let opened: T | undefined;
  return () => {
    if (isOpen) return opened;
    isOpen = true;
    try {
      opened = open(loadLibrary());
    } catch {
      // Without the addon, or an old library lacks a function.
    }
    return opened;
  };
}
