import { sandboxNotRunning, transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#core/errors.ts';
import { EngineError } from './engine.ts';

/** Another object has the name of a sandbox's container or volume. */
export function notOurs(id: string, what: 'container' | 'volume', name: string): PortholeError {
  return new PortholeError('internal_error', `Sandbox ${id}: ${what} ${name} is not Porthole's.`, {
    remedy: 'Remove it, or use another container engine.',
  });
}

/** A text that is not a valid image name. */
export function noImageName(id: string, image: string, cause?: unknown): PortholeError {
  return new PortholeError(
    'invalid_request',
    `Sandbox ${id}: ${image.slice(0, 200)} is no name of an image.`,
    { remedy: 'Give one such as docker.io/library/node:24.', cause },
  );
}

/** An image that does not exist and cannot be pulled, in the engine's own words. */
export function noSuchImage(id: string, image: string, why: string, cause?: unknown): PortholeError {
  const remedy = 'pull it on the engine, or name one that its registry has';
  return sandboxNotRunning(id, `its image ${image} cannot be had (${why}); ${remedy}`, cause);
}

/** Converts an engine's error for callers of a provider. */
export function portError(id: string, error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  if (error.status === undefined) {
    return new PortholeError(
      'exec_transport_error',
      `Sandbox ${id}: ${error.message}. Is it running, and is DOCKER_HOST right?`,
      { cause: error },
    );
  }
  return transportError(id, error.message, error);
}
