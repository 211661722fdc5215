import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const GUIDES = join(import.meta.dirname, '../../docs/guides');

/** What a page writes where a reader puts their own. */
export interface Access {
  readonly url: string;
  readonly token: string;
}

/** A fenced block of a guide. */
export function guideBlock(page: string, language: string, index = 0): string {
  const text = readFileSync(join(GUIDES, `${page}.md`), 'utf8');
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))];
  const code = blocks[index]?.[1];
  if (code === undefined) throw new Error(`${page}.md has no block ${index} in ${language}`);
  return code;
}

/** The same, with an address and a token in it. Fails if the page has none of both. */
export function connectedBlock(
  page: string,
  language: string,
  { url, token }: Access,
  index?: number,
): string {
  const code = guideBlock(page, language, index);
  for (const part of ['http://127.0.0.1:8787', 'AGENT_TOKEN']) {
    if (!code.includes(part)) throw new Error(`${page}.md does not say ${part}`);
  }
  return code.replaceAll('http://127.0.0.1:8787', url).replaceAll('AGENT_TOKEN', token);
}
