import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { collectCode } from '#core/code/collect-code.ts';
import { runCode } from '#core/code/run-code.ts';
import type { CodeResult } from '#protocol/guest/code-protocol.ts';
import { KeptOutput, textsOf } from '../kept-output.ts';
import { defineTool, fitting } from '../mcp-tool.ts';
import { runId, sandboxOf } from './run-sandbox-tool.ts';

/** Characters of the JSON of all results, pictures apart. */
const MAX_RESULT_CHARS = 16_000;
const DEFAULT_SECONDS = 60;

export const runCodeTool = defineTool({
  name: 'run_code',
  title: 'Run code',
  description:
    'Run Python (or javascript, typescript, bash) in the sandbox; variables are kept for the next call, and the last picture is returned.',
  input: z.strictObject({
    run_id: runId,
    code: z.string().min(1).max(100_000),
    language: z.string().max(40).default('python'),
    timeout_seconds: z.number().min(1).max(600).default(DEFAULT_SECONDS),
  }),
  output: z.object({
    stdout: z.string(),
    stderr: z.string(),
    results: z.array(z.string()).describe('What it displays'),
    exception: z.string().nullable(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true },
  async run({ run_id, code, language, timeout_seconds }, context) {
    const { services, caller, signal } = context;
    const { id, env } = await sandboxOf(context, run_id);
    const ref = { caller, sandboxId: id, signal };
    const lines = await runCode(services, ref, { code, language, env, timeoutMs: timeout_seconds * 1_000 });
    const ran = await collectCode(lines);
    const [out, err] = [new KeptOutput(), new KeptOutput()];
    out.push(Buffer.from(ran.stdout));
    err.push(Buffer.from(ran.stderr));
    const { stdout, stderr } = textsOf(out, err);
    const texts = ran.results.map(textOf);
    const results = fitting(texts, MAX_RESULT_CHARS);
    const exception = ran.exception && plainException(ran.exception);
    const parts = [
      stdout.text,
      stderr.text === '' ? '' : `stderr:\n${stderr.text}`,
      ...results,
      results.length === texts.length ? '' : '[more results left out]',
      exception ?? '',
    ];
    return {
      data: {
        stdout: stdout.text,
        stderr: stderr.text,
        results,
        exception,
      },
      text: parts.filter((part) => part !== '').join('\n') || '[no output]',
      image: ran.results.map(pictureOf).findLast((picture) => picture !== undefined),
    };
  },
});

function textOf({ text, markdown, html, json, svg, latex, png, jpeg }: CodeResult): string {
  const shown = text ?? markdown ?? html ?? latex ?? svg;
  if (shown !== undefined) return shown;
  if (json !== undefined) return JSON.stringify(json);
  return png === undefined && jpeg === undefined ? '[a result without text]' : '[a picture]';
}

function pictureOf({ png, jpeg }: CodeResult) {
  if (png !== undefined) return { mimeType: 'image/png', data: png };
  return jpeg === undefined ? undefined : { mimeType: 'image/jpeg', data: jpeg };
}

/** Characters of a traceback, of which the end says most. */
const MAX_TRACEBACK = 4_000;

function plainException({ name, value, traceback }: { name: string; value: string; traceback: string }) {
  const plain = stripVTControlCharacters(traceback);
  return plain === '' ? `${name}: ${value}` : plain.slice(-MAX_TRACEBACK);
}
