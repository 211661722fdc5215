import { jsonLanguage } from '@codemirror/lang-json';

/** Where a text stops being JSON. */
export interface JsonProblem {
  readonly words: string;
  /** Offsets into the text; `to` is beyond `from`, unless the text ends there. */
  readonly from: number;
  readonly to: number;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

export type ReadJson =
  | { readonly value: unknown; readonly problem?: undefined }
  | { readonly problem: JsonProblem };

/**
 * JSON as `JSON.parse` reads it, with the place of what it does not: browsers do not agree on
 * telling that.
 */
export function parseJson(text: string): ReadJson {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    const from = placeOfError(text);
    const before = text.slice(0, from).split('\n');
    const words =
      from >= text.length
        ? 'the JSON ends too early'
        : `${JSON.stringify(text.charAt(from))} is not expected here`;
    return {
      problem: {
        words,
        from,
        to: Math.min(from + 1, text.length),
        line: before.length,
        column: (before.at(-1)?.length ?? 0) + 1,
      },
    };
  }
}

/** That of the grammar's first error; the end, where it has none. */
function placeOfError(text: string): number {
  let found: number | undefined;
  jsonLanguage.parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError) found ??= from;
      return found === undefined;
    },
  });
  const at = found ?? text.length;
  // An error begins where the last good thing ended: what is wrong comes after the space.
  return at + (/^\s*/.exec(text.slice(at))?.[0].length ?? 0);
}
