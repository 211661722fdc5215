import type { Caller } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { startCodeServer } from '#core/code/code-server.ts';
import { listImages } from '#core/images/image-catalogue.ts';
import type { Services } from '../services.ts';

/** The template of the code interpreter's clients. */
export const INTERPRETER = 'code-interpreter-v1';
/** Its image, unless the catalogue has one of the template's own name. */
const IMAGE = 'code-interpreter';

/** Undefined: the default image. On one machine every sandbox sees the code interpreter. */
export async function interpreterImage(services: Services): Promise<string | undefined> {
  const names = (await listImages(services)).map(({ name }) => name);
  return [INTERPRETER, IMAGE].find((name) => names.includes(name));
}

/** Where it is missing, the sandbox is of use all the same: a run of code says what to install. */
export async function startInterpreter(services: Services, caller: Caller, sandboxId: string): Promise<void> {
  try {
    await startCodeServer(services, { caller, sandboxId });
  } catch (error) {
    if (!(error instanceof PortholeError) || error.code !== 'code_interpreter_missing') throw error;
  }
}
