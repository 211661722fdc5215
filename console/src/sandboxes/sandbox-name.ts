import { twoWords } from '../parts/two-words.ts';

interface Named {
  readonly id: string;
  readonly name?: string | null;
  readonly session_key?: string | null;
}

/** The name of a sandbox; of one without a name, two words that its id determines. */
export function sandboxName({ id, name, session_key: session }: Named): string {
  return name ?? session ?? twoWords(id);
}
