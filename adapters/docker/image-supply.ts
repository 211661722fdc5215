import { addAbortSignal, type Readable } from 'node:stream';
import { type Engine, EngineError, isStatus } from './engine.ts';
import { sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#base/errors.ts';

/** Longest time for an image to be pulled, in milliseconds: gigabytes over a slow line. */
const PULL_MS = 900_000;

/** Longest line of a pull's progress; longer lines are cut. */
const MAX_LINE_CHARS = 64 * 1024;

/**
 * An image's registry, name, tag and digest. It becomes part of a request path: no part of it is
 * empty or begins with a dot.
 */
const REFERENCE =
  /^(?=.{1,500}$)\w[\w.-]*(?::\d{1,5})?(?:\/\w[\w.-]*)*(?::\w[\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,128})?$/i;

export function findImage(engine: Engine, image: string, signal?: AbortSignal) {
  return engine.find(`inspect image ${image}`, (docker) => docker.getImage(image).inspect(), signal);
}

/**
 * Ensures that the engine has an image: pulls it if it is missing, and returns the environment that
 * the image sets. Pulls are anonymous; pull images of a registry that requires credentials
 * beforehand.
 * @throws PortholeError `invalid_request` for an invalid image name, `sandbox_not_running` if the
 * image is not available
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

/** A text that is not a valid image name. */
function noImageName(id: string, image: string, cause?: unknown): PortholeError {
  return new PortholeError('invalid_request', `Sandbox ${id}: ${image.slice(0, 200)} is not an image name.`, {
    remedy: 'Give one such as docker.io/library/node:24.',
    cause,
  });
}

/** An image that does not exist and cannot be pulled, in the engine's own words. */
function noSuchImage(id: string, image: string, why: string, cause?: unknown): PortholeError {
  const remedy = 'pull it on the engine, or name one that its registry has';
  return sandboxNotRunning(id, `its image ${image} cannot be had (${why}); ${remedy}`, cause);
}

class PullError extends Error {}

/** Reads a pull to its end: errors after the head arrive in its progress. */
async function whole(progress: Readable): Promise<void> {
  let line = '';
  for await (const piece of progress.setEncoding('utf8')) {
    const lines = (line + String(piece)).split('\n');
    line = (lines.pop() ?? '').slice(-MAX_LINE_CHARS);
    for (const one of lines) check(one);
  }
  check(line);
}

function check(line: string): void {
  if (!line.includes('"error"')) return;
  const { error } = JSON.parse(line) as { error?: unknown };
  if (typeof error === 'string') throw new PullError(error);
}
