import { addAbortSignal, type Readable } from 'node:stream';
import { type Engine, EngineError, isStatus } from './engine.ts';
import { noImageName, noSuchImage } from './provider-errors.ts';

/** Longest time for an image to be pulled, in milliseconds: gigabytes over a slow line. */
const PULL_MS = 900_000;

/** A line of a pull's progress is short; one that is not is cut. */
const LONGEST_LINE = 64 * 1024;

/**
 * What can be an image's name, registry, tag and digest. It becomes a part of a path to the engine:
 * no part of it is empty or begins with a dot.
 */
const REFERENCE =
  /^(?=.{1,500}$)\w[\w.-]*(?::\d{1,5})?(?:\/\w[\w.-]*)*(?::\w[\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,128})?$/i;

/** The engine's image; undefined where it has none of that name. */
export function findImage(engine: Engine, image: string, signal?: AbortSignal) {
  return engine.find(`inspect image ${image}`, (docker) => docker.getImage(image).inspect(), signal);
}

/**
 * Sees to it that the engine has an image: pulls it where it has not, and tells what the image sets
 * in the environment. Pulls are anonymous; an image of a registry that asks who one is has to be
 * pulled beforehand.
 * @throws PortholeError `invalid_request` for what names no image, `sandbox_not_running` where it
 * cannot be had
 */
export async function supplyImage(
  engine: Engine,
  id: string,
  image: string,
  signal?: AbortSignal,
): Promise<{ readonly env: readonly string[] }> {
  if (!REFERENCE.test(image)) throw noImageName(id, image);
  try {
    const present = await findImage(engine, image, signal);
    if (present !== undefined) return { env: present.Config?.Env ?? [] };
    await engine.call(
      `pull ${image}`,
      async (docker, abortSignal) => {
        const progress = (await docker.pull(image, { abortSignal })) as Readable;
        await whole(addAbortSignal(abortSignal, progress));
      },
      signal,
      PULL_MS,
    );
    return { env: (await findImage(engine, image, signal))?.Config?.Env ?? [] };
  } catch (error) {
    signal?.throwIfAborted();
    if (isStatus(error, 400)) throw noImageName(id, image, error);
    if (error instanceof EngineError && (error.status !== undefined || error.cause instanceof PullError)) {
      throw noSuchImage(id, image, error.message, error);
    }
    throw error;
  }
}

class PullError extends Error {}

/** Reads a pull to its end: what goes wrong in the middle is told in its progress. */
async function whole(progress: Readable): Promise<void> {
  let line = '';
  for await (const piece of progress.setEncoding('utf8')) {
    const lines = (line + String(piece)).split('\n');
    line = (lines.pop() ?? '').slice(-LONGEST_LINE);
    for (const one of lines) check(one);
  }
  check(line);
}

function check(line: string): void {
  if (!line.includes('"error"')) return;
  const { error } = JSON.parse(line) as { error?: unknown };
  if (typeof error === 'string') throw new PullError(error);
}
