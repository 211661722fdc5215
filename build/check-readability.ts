/**
 * Part of `npm run check`: README and the pages of `docs/start` and `docs/guides` have a Flesch
 * reading ease of 60 or more, and those of `docs/start` at most 300 words. `--all` prints the
 * figures of every page.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { flesch } from 'flesch';
import { syllable } from 'syllable';

const MIN_EASE = 60;
const MAX_START_WORDS = 300;
const root = join(import.meta.dirname, '..');

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });
const words = new Intl.Segmenter('en', { granularity: 'word' });

const pages = ['README.md', ...pagesIn('docs/start'), ...pagesIn('docs/guides')];
for (const page of pages) {
  const { ease, count } = measure(readFileSync(join(root, page), 'utf8'));
  const figures = `${page}: reading ease ${ease.toFixed(1)}, ${count} words`;
  if (process.argv.includes('--all')) process.stdout.write(`${figures}\n`);
  if (ease < MIN_EASE) report(`${figures}. Shorten its sentences and words: the least is ${MIN_EASE}`);
  if (page.startsWith('docs/start/') && count > MAX_START_WORDS) {
    report(`${figures}. The most is ${MAX_START_WORDS}`);
  }
}

function report(fault: string): void {
  process.stderr.write(`${fault}\n`);
  process.exitCode = 1;
}

function pagesIn(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

function measure(page: string): { readonly ease: number; readonly count: number } {
  const texts = proseOf(page).flatMap((text) => [...sentences.segment(text)].map(({ segment }) => segment));
  const spoken = texts.map(wordsOf).filter((each) => each.length > 0);
  const all = spoken.flat();
  const syllables = all.reduce((sum, word) => sum + syllable(word), 0);
  return {
    ease: flesch({ sentence: spoken.length, word: all.length, syllable: syllables }),
    count: all.length,
  };
}

/** The paragraphs and items of lists, without code, tables, headings and addresses. */
function proseOf(page: string): string[] {
  return page
    .replaceAll(/^([ \t]*)(`{3,}).*?^\1\2$/gms, '')
    .replaceAll(/`[^`\n]*`/g, '')
    .replaceAll(/^[ \t]*(?:\||#|<!--).*$/gm, '')
    .replaceAll(/!\[.*?\]\(.*?\)/g, '')
    .replaceAll(/\[(.*?)\]\(.*?\)/g, '$1')
    .replaceAll(/<https?:.*?>|https?:\S+/g, '')
    .split(/\n\s*\n|^\s*(?:[-*]|\d+\.)\s/m)
    .map((text) => text.replaceAll(/\s+/g, ' ').replaceAll(/[*_]/g, ''));
}

function wordsOf(sentence: string): string[] {
  return [...words.segment(sentence)]
    .map(({ segment }) => segment)
    .filter((word) => /^\p{L}[\p{L}'’]*$/u.test(word));
}
