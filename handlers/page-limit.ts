import { z } from 'zod';

const MESSAGE = 'must be a whole number from 1 to 1000';

/** `limit` of every list. */
export const pageLimit = z.coerce
  .number(MESSAGE)
  .int(MESSAGE)
  .min(1, MESSAGE)
  .max(1000, MESSAGE)
  .default(100);
