import type { Incoming } from './file-names.ts';

/** Files of one request: the API's limit. */
const MAX_FILES = 1_000;
/** Bytes of one request, unless one file has more: what was sent before a failure stays. */
const MAX_REQUEST_BYTES = 251_658_240;

/** How files are sent. */
export function planUpload(files: readonly Incoming[]) {
  /** Each is one request: all of its files or none. */
  const batches: Incoming[][] = [];
  /** Names that a form cannot represent: each file is sent separately. */
  const odd: Incoming[] = [];
  let bytes = 0;
  for (const each of files) {
    // Browsers write a quote as %22, and a %22 unchanged.
    if (/%(?:22|0a|0d)/i.test(each.path)) {
      odd.push(each);
      continue;
    }
    const last = batches.at(-1);
    if (last === undefined || last.length >= MAX_FILES || bytes + each.file.size > MAX_REQUEST_BYTES) {
      batches.push([each]);
      bytes = each.file.size;
    } else {
      last.push(each);
      bytes += each.file.size;
    }
  }
  return { batches, odd, total: files.reduce((sum, { file }) => sum + file.size, 0) };
}
