import { formatSize } from '../live/clock.ts';
import type { Incoming } from './file-names.ts';

/** What the API takes of one file, in bytes. */
export const MOST_OF_FILE = 33_554_432;
/** And in one request: 1,000 files, and 256 MiB with some KiB for each one's name. */
const MOST_FILES = 1_000;
const MOST_BYTES = 251_658_240;

export interface UploadPlan {
  /** Each is one request: all of its files or none. */
  readonly batches: readonly (readonly Incoming[])[];
  /** Names that no form can hold as they are: each goes alone. */
  readonly odd: readonly Incoming[];
  /** In bytes. */
  readonly total: number;
}

/** How files are sent, and why not, where one of them cannot be: nothing is sent then. */
export function planUpload(files: readonly Incoming[]): UploadPlan | { readonly refused: string } {
  const large = files.filter(({ file }) => file.size > MOST_OF_FILE);
  const [first] = large;
  if (first !== undefined) {
    const others = large.length === 1 ? '' : `, and so are ${large.length - 1} more`;
    return {
      refused: `${first.path} is too large: ${formatSize(first.file.size)}, and at most ${formatSize(MOST_OF_FILE)} are taken${others}. Nothing was uploaded.`,
    };
  }
  const batches: Incoming[][] = [];
  const odd: Incoming[] = [];
  let bytes = 0;
  for (const each of files) {
    // A browser writes a quote as %22, and a %22 as it is.
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
