import { PortholeError } from '#base/errors.ts';
import type { GuestProvider } from './guest-files.ts';

/**
 * Files of `/tmp` instead of the workspace, by the same paths: a file has the path that it would
 * have in the workspace. They are in no checkpoint, and end with the sandbox's processes.
 */
export function temporaryFiles(provider: GuestProvider): GuestProvider {
  return {
    callGuest: async (id, call, signal) => {
      const path = call.path.replace(/^\/v1\//, '/v1/tmp/');
      try {
        return await provider.callGuest(id, { ...call, path }, signal);
      } catch (error) {
        throw inTemporary(error);
      }
    },
  };
}

/** An error about files of `/tmp` that names them as callers do. */
export function inTemporary(error: unknown): unknown {
  if (!(error instanceof PortholeError) || !error.message.includes('/workspace')) return error;
  const { code, message, details, retryable } = error;
  return new PortholeError(code, message.replaceAll(WORKSPACE, '/tmp'), { details, retryable, cause: error });
}

/** Where a path begins. */
const WORKSPACE = /(?<![^\s"(])\/workspace(?![\w-])/g;
