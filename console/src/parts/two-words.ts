import { PREVIEW_WORDS } from '../../../protocol/preview-words.ts';

/** A name for what has none: two words that its id determines. */
export function twoWords(id: string): string {
  // FNV-1a.
  let hash = 0x811c9dc5;
  for (const char of id) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  const word = (number: number) => PREVIEW_WORDS[number % PREVIEW_WORDS.length];
  return `${word(hash >>> 16)}-${word(hash & 0xffff)}`;
}
