import { z } from 'zod';

/** The id of an event, as its number. Nine digits are more than any story has. */
export const EventId = z
  .string()
  .regex(/^\d{1,9}$/, 'must be the id of an event')
  .transform(Number);
