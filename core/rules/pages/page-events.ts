import type { NewEvent } from '../../ports/timeline.ts';
import { plainText } from '../plain-text.ts';
import type { Actor } from '../preview-events.ts';
import { secretRedactor } from '../redact-secrets.ts';
import type { PageResult } from './classify-page.ts';

export interface LookedAt {
  readonly port: number;
  readonly path: string;
  readonly by: Actor | undefined;
}

/** Of agents that check again and again, one a second is told. */
const AGAIN_MS = 1_000;
const redact = secretRedactor([]);

/** A look at a page, with its result and the likeliest cause. */
export function pageLooked({ port, path, by }: LookedAt, { result, causes }: PageResult, at: Date): NewEvent {
  const [first] = causes;
  return {
    type: 'preview.looked',
    key: `looked:${port}:${result}:${Math.floor(at.getTime() / AGAIN_MS)}`,
    data: {
      target_port: port,
      // Queries hold secrets now and then.
      path: plainText(path.replace(/[?#].*$/, ''), 200),
      result,
      ...(first !== undefined && { cause: plainText(redact(first.message), 300) }),
      ...(first?.place && { place: placeText(first.place) }),
      ...(by !== undefined && { by }),
    },
  };
}

/** `src/main.tsx:3:16`, as editors and terminals read it. */
export function placeText({
  file,
  line,
  column,
}: NonNullable<PageResult['causes'][number]['place']>): string {
  return [file, line, line === null ? null : column].filter((part) => part !== null).join(':');
}
