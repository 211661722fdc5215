import { z } from 'zod';

const MARK = 'porthole-output-';

/** The text in plans that replaces an output; a DNS label. */
export function placeholder(id: number): string {
  return `${MARK}${id}x`;
}

/** Whether the text has a placeholder for an output, so that its value is not known yet. */
export function isUnknown(text: string): boolean {
  return text.includes(MARK);
}

/**
 * A text that may be an output: its format is validated once its value is known, because no
 * placeholder matches the format.
 */
export function orOutput<Schema extends z.ZodType<string, string>>(schema: Schema) {
  return z.string().superRefine((text, context) => {
    if (isUnknown(text)) return;
    for (const { message } of schema.safeParse(text).error?.issues ?? []) context.addIssue(message);
  });
}
