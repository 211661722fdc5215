import { plainText } from '../../../base/plain-text.ts';
import { twoWords } from '../parts/two-words.ts';

/**
 * The title of a run; of one without a title, two words that its id determines.
 * @param max characters of the title
 */
export function runName(id: string, title: string | null | undefined, max = 200): string {
  return plainText(title ?? '', max) || twoWords(id);
}
