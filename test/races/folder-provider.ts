import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProvider } from '#test/support/with-guests.ts';
import { PassThrough } from 'node:stream';
import { memorySandboxes } from '#test/doubles/memory-sandboxes.ts';

/**
 * Sandboxes that are only folders, created in two steps, so that a crash can come in between. They
 * outlive the process, as real ones do.
 */
export function folderProvider(
  root: string,
  between: () => Promise<void> = async () => undefined,
): TestProvider {
  mkdirSync(root, { recursive: true });
  const path = (id: string) => join(root, id);
  const refuse = () => Promise.reject(new Error('these sandboxes neither stop nor resume'));
  return {
    ...memorySandboxes().provider,
    async create({ id }) {
      mkdirSync(path(id), { recursive: true });
      await between();
      writeFileSync(join(path(id), 'made'), '');
    },
    async inspect(id) {
      if (!existsSync(path(id))) return { state: 'absent', podName: id };
      return { state: existsSync(join(path(id), 'made')) ? 'running' : 'creating', podName: id };
    },
    stop: refuse,
    resume: refuse,
    async destroy(id) {
      rmSync(join(path(id), 'made'), { force: true });
      await between();
      rmSync(path(id), { recursive: true, force: true });
    },
    dial: async () => new PassThrough(),
    async *list() {
      yield* readdirSync(root);
    },
  };
}
