import { ApiError, call, request } from '../api/client.ts';
import { addressOfFile } from './file-names.ts';

const TAKEN = 'That name already exists.';

/**
 * Makes a folder. `isTaken`: its name is in use.
 * @param path absolute, below the workspace, as all paths here
 */
export async function makeFolder(sandboxId: string, path: string, isTaken: boolean): Promise<void> {
  // The API answers the same for a folder that exists.
  if (isTaken) throw new ApiError(409, 'file_exists', TAKEN);
  await call('POST /v1/sandbox/{id}/folder', { path: { id: sandboxId }, body: { path } });
}

/** Moves or renames a file or folder. @throws ApiError if the name is taken */
export async function movePath(sandboxId: string, from: string, to: string): Promise<void> {
  await call('POST /v1/sandbox/{id}/move', { path: { id: sandboxId }, body: { from, to } }).catch(
    inWords(TAKEN, ({ code }) => code === 'file_exists'),
  );
}

/** Says some of the API's errors in other words. */
function inWords(words: string, isMeant: (error: ApiError) => boolean): (error: unknown) => never {
  return (error) => {
    throw error instanceof ApiError && isMeant(error) ? new ApiError(error.status, error.code, words) : error;
  };
}

/** Deletes a file, or a folder with all that is in it. */
export async function deletePath(sandboxId: string, path: string): Promise<void> {
  await request(`${addressOfFile(sandboxId, path)}?recursive=true`, { method: 'DELETE' });
}

/**
 * Moves a file or folder into another folder.
 * @returns its new path
 * @throws ApiError if there is no such folder, or the name is taken there
 */
export async function moveInto(sandboxId: string, path: string, folder: string): Promise<string> {
  const to = `${folder}/${path.slice(path.lastIndexOf('/') + 1)}`;
  if (to === path) return path;
  if (`${folder}/`.startsWith(`${path}/`)) {
    throw new ApiError(409, 'invalid_request', 'A folder cannot be moved into itself.');
  }
  // A move makes missing folders: a mistyped one would be made.
  await call('GET /v1/sandbox/{id}/files', { path: { id: sandboxId }, query: { path: folder } }).catch(
    inWords('There is no such folder.', ({ status }) => status === 404 || status === 400),
  );
  await movePath(sandboxId, path, to);
  return to;
}
