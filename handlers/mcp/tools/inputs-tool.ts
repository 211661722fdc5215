import { z } from 'zod';

export const runId = z
  .string()
  .max(200)
  .optional()
  .describe('Default: the run of the agent token, or the run that start_run made in this session');

const PORT_MESSAGE = 'must be an integer between 1 and 65535';

export const port = z
  .number(PORT_MESSAGE)
  .int(PORT_MESSAGE)
  .min(1, PORT_MESSAGE)
  .max(65_535, PORT_MESSAGE)
  .describe('The port that the server listens on in the sandbox');

export const filePath = z
  .string()
  .min(1)
  .max(4_096)
  .describe('Within /workspace; a relative path counts from there');
