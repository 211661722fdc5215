import { STATUS_CODES } from 'node:http';
import type { PageFacts, PageSight, SourcePlace } from './page-browser.ts';
import { cause, type Ranked } from './page-cause.ts';

type Structure = PageSight['structure'];

/** A document that was answered with success. */
export interface ServedDocument {
  readonly url: string;
  readonly contentType: string | null;
  readonly facts: Pick<PageFacts, 'title' | 'textLength'>;
  readonly structure: Structure;
}

/** A page that is a listing, source code or an error, by its media type and its structure. */
export function documentFault(served: ServedDocument): Ranked | undefined {
  return listing(served) ?? garbled(served) ?? source(served) ?? errorText(served) ?? template(served);
}

/** Titles of the listings of Python, Apache, nginx, http-server, serve, serve-index and others. */
const LISTING = /^(?:index of|directory listing (?:for|of)|listing directory|files within|directory:?) /i;
/** Share of the links that show their file name. */
const NAMED = 0.8;

function listing({ facts, structure }: ServedDocument): Ranked | undefined {
  const { heading, links, namedLinks, sample } = structure;
  if (links < 1 || namedLinks / links < NAMED) return undefined;
  const isTitled = LISTING.test(`${facts.title} `) || LISTING.test(`${heading} `);
  // Go's listing is a list of names and nothing else: one name a line.
  const lines = linesOf(sample);
  const isBare = facts.title === '' && heading === '' && lines.length === links && links > 1;
  if (!isTitled && !isBare) return undefined;
  const message = `The page is a directory listing (${lines.slice(isTitled ? 1 : 0, 5).join(', ')}): the folder has no index page, or the server serves the wrong folder.`;
  return cause(14.5, 'directory_listing', message);
}

const CODE_TYPE = /javascript|ecmascript|typescript|jsx|css|x-python|x-sh|x-php|httpd-php|x-ruby|x-c\b/;
const LEAST_GARBLED = 20;

/** Compressed or binary data, or text in another encoding. */
function garbled({ structure }: ServedDocument): Ranked | undefined {
  const { sample } = structure;
  // oxlint-disable-next-line no-control-regex -- counts what no text contains
  const count = sample.match(/[\u0000-\u0008\u000e-\u001f\ufffd]/g)?.length ?? 0;
  return count >= LEAST_GARBLED && count > sample.length * 0.05
    ? cause(
        14.6,
        'source_shown',
        'The page is garbled: the server sends binary data, or text in an encoding that it does not declare.',
      )
    : undefined;
}

function source({ url, contentType, structure }: ServedDocument): Ranked | undefined {
  const { sample, comments } = structure;
  // A person who asks for a file gets its source.
  if (/\.\w{1,6}$/.test(url.split(/[?#]/, 1)[0] ?? '') && !url.endsWith('.php')) return undefined;
  const type = contentType ?? '';
  const start = sample.trimStart();
  const isSource =
    CODE_TYPE.test(type) ||
    comments.startsWith('?php') ||
    start.startsWith('<?php') ||
    (type.startsWith('text/plain') && (/^<(?:!doctype html|html)\b/i.test(start) || isCode(start)));
  if (!isSource) return undefined;
  const first = start.split('\n', 1)[0]?.slice(0, 80) ?? '';
  return cause(
    14.7,
    'source_shown',
    `The page shows a source file as text (${type}), which the server neither runs nor renders: ${first}`,
  );
}

const CODE_START =
  /^(?:import |from \S+ import |export |const |let |var |function |def |class |package |func |#include|#!|return\b|@\w|<\/?\w|[\])}])/;

/** Most lines have the form of code. */
function isCode(text: string): boolean {
  const lines = linesOf(text);
  const isOne = (line: string) => CODE_START.test(line) || /[;{}]$/.test(line);
  return lines.length >= 4 && lines.filter(isOne).length >= lines.length * 0.6;
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

const PHRASES: ReadonlySet<string> = new Set(
  Object.entries(STATUS_CODES)
    .filter(([code]) => Number(code) >= 400)
    .map(([, phrase = '']) => phrase.toLowerCase()),
);
const STATUS_START = /^(?:http )?(?:error:? ?)?([45]\d\d)?[ :|–—-]{0,3}(?:error:? ?)?/;

/** The words of an HTTP status, with or without its number, and nothing else. */
function isStatus(words: string): boolean {
  const text = words.trim().slice(0, 100).toLowerCase().replace(/[.!]$/, '');
  const [start = '', code] = STATUS_START.exec(text) ?? [];
  const rest = text.slice(start.length);
  return PHRASES.has(rest) || (rest === '' && code !== undefined);
}

/** A line of a stack trace of JavaScript, Python, PHP, Java, Ruby or Go. */
function isFrame(line: string): boolean {
  return (
    (line.startsWith('at ') && /:\d+\)?$/.test(line)) ||
    (line.startsWith('File "') && line.includes('", line ')) ||
    /^#\d+ /.test(line) ||
    /^(?:from )?\S+\.(?:rb|go|ex|php):\d/.test(line)
  );
}

/** The first line of a trace, or of an error that ended a script. */
function isFatal(text: string, lines: readonly string[]): boolean {
  if (text.includes('Traceback (most recent call last)')) return true;
  return lines.some(
    (line) =>
      line.startsWith('panic: ') ||
      /^Cannot (?:GET|POST|HEAD|PUT) \//.test(line) ||
      (/^(?:PHP )?(?:Fatal|Parse) error: /.test(line) && text.includes(' on line ')),
  );
}

/** More text than this is an app. */
const MAX_ERROR_CHARS = 4_000;

function errorText(served: ServedDocument): Ranked | undefined {
  const { facts, structure, contentType } = served;
  const { sample, heading, controls, links } = structure;
  if (/json/.test(contentType ?? '')) return jsonError(sample);
  if (controls > 0 || links > 3 || facts.textLength > MAX_ERROR_CHARS) return undefined;
  const text = sample.trim();
  const lines = linesOf(text);
  const frames = lines.filter(isFrame).length;
  const isTrace = frames >= 2 && frames >= lines.length * 0.3;
  const isError = isTrace || isFatal(text, lines) || [facts.title, heading, text].some(isStatus);
  if (!isError) return undefined;
  const named = lines.find((line) => /error|exception|panic/i.test(line) && !isFrame(line));
  return shownError(named ?? lines[0] ?? heading, text);
}

const FAILED_KEYS =
  /^(?:error|errors|message|detail|details|status|statusCode|status_code|code|stack|trace|ok|success|path|timestamp|type|title|instance|requestId|request_id)$/;

/** A JSON object that reports a failure without details. */
function jsonError(text: string): Ranked | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  if (entries.length === 0 || !entries.every(([key]) => FAILED_KEYS.test(key))) return undefined;
  const fails = entries.some(
    ([key, each]) =>
      (/^(?:errors?|stack|trace)$/.test(key) && Boolean(each)) ||
      (/^(?:status|statusCode|status_code|code)$/.test(key) && typeof each === 'number' && each >= 400) ||
      (/^(?:ok|success)$/.test(key) && each === false),
  );
  return fails ? shownError(text.trim().slice(0, 200), text) : undefined;
}

function shownError(first: string, text: string): Ranked {
  const message = `The page answers with success, but shows an error: ${first.trim()}`;
  return cause(14.8, 'error_text', message, placeIn(text));
}

const MARKER = /\{\{[^{}\n]{1,80}\}\}|\{%[^%\n]{1,120}%\}|<%[=-]?[^%\n]{1,120}%>/g;
/** Of the text. */
const MARKED = 0.15;

/** A template that neither the server nor a script has filled in. */
function template({ facts, structure }: ServedDocument): Ranked | undefined {
  const { sample, code, heading } = structure;
  const markers = (sample.match(MARKER) ?? []).filter((each) => !code.includes(each));
  const [first] = markers;
  if (first === undefined) return undefined;
  const share = markers.join('').length / Math.max(1, sample.length);
  const isInHeading =
    (heading.match(MARKER) ?? []).length > 0 || (facts.title.match(MARKER) ?? []).length > 0;
  if (share < MARKED && !isInHeading) return undefined;
  return cause(
    14.9,
    'source_shown',
    `The page shows the source of its template: neither the server nor a script has filled in ${first}.`,
  );
}

/** A file and line from a server's error page or traceback. */
export function placeIn(text: string): SourcePlace | null {
  const python = [...text.matchAll(/File "(?:\/workspace\/)?([^"]+)", line (\d+)/g)].at(-1);
  const node = /\(?(?:file:\/\/)?\/workspace\/([\w./-]{1,300}):(\d+):(\d+)\)?/.exec(text);
  const [, file, line, column] = python ?? node ?? [];
  if (file === undefined) return null;
  return { file, line: Number(line), column: column === undefined ? null : Number(column) };
}
