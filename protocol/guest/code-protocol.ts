/** The code interpreter of a sandbox, `images/code-interpreter`: what its server answers. */
import * as z from 'zod/mini';

/** Where it listens: the port and the lines are those of E2B's code interpreter. */
export const CODE_PORT = 49_999;

/** The folder of its Python, in images and on one machine. */
export const CODE_FOLDER = '/opt/code-interpreter';
export const CODE_COMMAND = [`${CODE_FOLDER}/current/bin/python3`, '-m', 'code_interpreter'] as const;

const text = z.string();
const short = z.string().check(z.maxLength(4_096));
const object = z.record(z.string(), z.unknown());

const outputText = { text, timestamp: z.number() };

const codeResult = z.object({
  type: z.literal('result'),
  /** The value of the last expression; otherwise something that the code displays. */
  is_main_result: z.boolean(),
  text: z.optional(text),
  html: z.optional(text),
  markdown: z.optional(text),
  svg: z.optional(text),
  /** Base64, as `jpeg` and `pdf`. */
  png: z.optional(text),
  jpeg: z.optional(text),
  pdf: z.optional(text),
  latex: z.optional(text),
  json: z.optional(z.unknown()),
  javascript: z.optional(text),
  /** The columns of a table. */
  data: z.optional(object),
  /** What a chart shows. */
  chart: z.optional(object),
  /** Other media types. */
  extra: z.optional(object),
});

/** A line of an answer. */
export const codeLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('number_of_executions'), execution_count: z.int().check(z.gte(0)) }),
  z.object({ type: z.literal('stdout'), ...outputText }),
  z.object({ type: z.literal('stderr'), ...outputText }),
  codeResult,
  z.object({ type: z.literal('error'), name: short, value: text, traceback: text }),
  z.object({ type: z.literal('keepalive') }),
  z.object({ type: z.literal('end_of_execution') }),
]);
export type CodeLine = z.infer<typeof codeLine>;
export type CodeResult = Omit<z.infer<typeof codeResult>, 'type'>;

export const codeContext = z.object({ id: short, language: short, cwd: short });
export type CodeContext = z.infer<typeof codeContext>;
export const codeContexts = z.array(codeContext).check(z.maxLength(100));
