import type { GuestProvider } from './guest-files.ts';

/**
 * Files of `/tmp` instead of the workspace, by the same paths: a file has the path that it would
 * have in the workspace. They are in no checkpoint, and end with the sandbox's processes.
 */
export function temporaryFiles(provider: GuestProvider): GuestProvider {
  return {
    callGuest: (id, call, signal) =>
      provider.callGuest(id, { ...call, path: call.path.replace(/^\/v1\//, '/v1/tmp/') }, signal),
  };
}
