import { PREVIEW_WORDS } from '../../../protocol/preview-words.ts';

interface Named {
  readonly id: string;
  readonly name?: string | null;
  readonly session_key?: string | null;
}

/** The name of a sandbox; of one without a name, two words that its id determines. */
export function sandboxName({ id, name, session_key: session }: Named): string {
  if (name != null) return name;
  if (session != null) return session;
  // FNV-1a.
  let hash = 0x811c9dc5;
  for (const char of id) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  const word = (number: number) => PREVIEW_WORDS[number % PREVIEW_WORDS.length];
  return `${word(hash >>> 16)}-${word(hash & 0xffff)}`;
}
