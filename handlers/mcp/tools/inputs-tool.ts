import { z } from 'zod';
import { portNumber } from '../../http/read-input.ts';

export const runId = z
  .string()
  .max(200)
  .optional()
  .describe('Default: the run of the agent token, or the run that start_run made in this session');

export const port = portNumber.describe('The port that the server listens on in the sandbox');

export const filePath = z
  .string()
  .min(1)
  .max(4_096)
  .describe('Within /workspace; a relative path counts from there');
