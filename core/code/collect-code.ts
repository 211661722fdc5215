import type { CodeResult } from '#protocol/guest/code-protocol.ts';
import type { ReadLine } from './run-code.ts';

/** Characters of each stream, and of the JSON of all results. */
const MAX_TEXT = 1024 * 1024;
const MAX_RESULTS = 16 * 1024 * 1024;

interface CollectedCode {
  readonly executionCount: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly results: readonly CodeResult[];
  /** What the code threw, or why it was ended. */
  readonly exception: { readonly name: string; readonly value: string; readonly traceback: string } | null;
  readonly truncated: boolean;
}

/** A whole run. Reads on after the limits, so that the code ends. */
export async function collectCode(lines: AsyncIterable<ReadLine>): Promise<CollectedCode> {
  const texts = { stdout: '', stderr: '' };
  const results: CodeResult[] = [];
  let resultChars = 0;
  let executionCount: number | null = null;
  let exception: CollectedCode['exception'] = null;
  let truncated = false;
  for await (const { line } of lines) {
    if (line.type === 'stdout' || line.type === 'stderr') {
      const room = MAX_TEXT - texts[line.type].length;
      truncated ||= line.text.length > room;
      texts[line.type] += line.text.slice(0, room);
    } else if (line.type === 'result') {
      const { type: _, ...result } = line;
      resultChars += JSON.stringify(result).length;
      if (resultChars > MAX_RESULTS) truncated = true;
      else results.push(result);
    } else if (line.type === 'error') {
      exception = { name: line.name, value: line.value, traceback: line.traceback };
    } else if (line.type === 'number_of_executions') executionCount = line.execution_count;
  }
  return { executionCount, ...texts, results, exception, truncated };
}
