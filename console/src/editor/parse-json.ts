import { jsonLanguage } from '@codemirror/lang-json';

/** The position of a JSON syntax error. */
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

/** Parses JSON and locates syntax errors, which browsers report differently. */
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

/** The position of the grammar's first error; the end, if there is no such error. */
function placeOfError(text: string): number {
  let found: number | undefined;
  jsonLanguage.parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError) found ??= from;
      return found === undefined;
    },
  });
  const at = found ?? text.length;
  // An error node begins after the last valid token: skip the white space.
  return at + (/^\s*/.exec(text.slice(at))?.[0].length ?? 0);
}
