import { formatSize } from '../live/clock.ts';
import type { Incoming } from './file-names.ts';

/** The API's limit of one file, in bytes. */
export const MOST_OF_FILE = 33_554_432;
/** The API's limits of one request: 1,000 files, and 256 MiB with some KiB for each name. */
const MOST_FILES = 1_000;
const MOST_BYTES = 251_658_240;

/** How files are sent, or why not: one invalid file rejects all. */
export function planUpload(files: readonly Incoming[]) {
  const large = files.filter(({ file }) => file.size > MOST_OF_FILE);
  const [first] = large;
  if (first !== undefined) {
    const others = large.length === 1 ? '' : `, and so are ${large.length - 1} more`;
    return {
      refused: `${first.path} is too large: ${formatSize(first.file.size)}, and at most ${formatSize(MOST_OF_FILE)} are taken${others}. Nothing was uploaded.`,
    };
  }
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
    if (last === undefined || last.length >= MOST_FILES || bytes + each.file.size > MOST_BYTES) {
      batches.push([each]);
      bytes = each.file.size;
    } else {
      last.push(each);
      bytes += each.file.size;
    }
  }
  return { batches, odd, total: files.reduce((sum, { file }) => sum + file.size, 0) };
}
