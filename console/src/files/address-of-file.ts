import { addressOf } from '../api/client.ts';

/** Where the bytes of a file are. @param path absolute */
export function addressOfFile(id: string, path: string): string {
  return addressOf('GET /v1/sandbox/{id}/file/{path}', { id, path: path.slice(1) });
}
