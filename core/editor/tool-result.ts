import type { JsonValue, NextAction, ToolRunError } from './editor-store.ts';
import { isTooDeep, MAX_DEPTH, isBeyondNumbers } from './tool-json.ts';

/** A validated result of a tool. */
export interface ToolResult {
  readonly outputs: JsonValue;
  /** Undefined: keep the earlier state. */
  readonly state: JsonValue;
  readonly nextActions: readonly NextAction[];
}

/** Maximum bytes of a result as the runner writes it: outputs, state and next actions together. */
export const MAX_RESULT_BYTES = 2 * 1024 * 1024;
const MAX_ACTIONS = 100;
const MAX_ACTION_ID_CHARS = 128;
const MAX_TRACEBACK_CHARS = 16 * 1024;
const MAX_MESSAGE_CHARS = 2_000;

const FROM_RUNNER: ReadonlySet<string> = new Set(['code_error', 'bad_entrypoint', 'bad_result']);

/**
 * Parses the output of the runner in the sandbox: `{result}` or `{error}`. The code may have
 * written the file itself, which then counts as its result.
 */
export function readToolResult(written: string): ToolResult | ToolRunError {
  let read: unknown;
  try {
    read = JSON.parse(written);
  } catch {
    return bad('Its result is not JSON.');
  }
  if (isTooDeep(read)) return bad(`Its result nests deeper than ${MAX_DEPTH} levels: make it flatter.`);
  if (isBeyondNumbers(read))
    return bad('Its result contains a number outside the range of a double: return it as a string.');
  if (!isObject(read)) return bad('Its result is not a JSON result.');
  if ('error' in read) return readError(read['error']);
  return readResult(read['result']);
}

export function isToolError(result: ToolResult | ToolRunError): result is ToolRunError {
  return 'code' in result;
}

function readResult(result: unknown): ToolResult | ToolRunError {
  const shape = '{outputs, state?, next_actions?}';
  if (!isObject(result)) return bad(`It returned ${nameOf(result)}, and must return ${shape}.`);
  const unknown = Object.keys(result).find((key) => !['outputs', 'state', 'next_actions'].includes(key));
  if (unknown !== undefined) {
    return bad(
      `It returned an unknown field ${JSON.stringify(unknown.slice(0, 100))}: a result is ${shape}.`,
    );
  }
  if (result['outputs'] === undefined) return bad(`It returned no outputs: a result is ${shape}.`);
  const nextActions = readActions(result['next_actions'] ?? []);
  if (typeof nextActions === 'string') return bad(nextActions);
  return { outputs: result['outputs'], state: result['state'], nextActions };
}

/** Returns a message if they are invalid. */
function readActions(given: unknown): readonly NextAction[] | string {
  if (!Array.isArray(given)) return `It returned next_actions that are ${nameOf(given)}, and must be a list.`;
  if (given.length > MAX_ACTIONS)
    return `It returned ${given.length} next_actions; the maximum is ${MAX_ACTIONS}.`;
  const ids = new Set<string>();
  for (const action of given as unknown[]) {
    const id = isObject(action) ? action['id'] : undefined;
    if (typeof id !== 'string' || id === '' || id.length > MAX_ACTION_ID_CHARS) {
      return `It returned a next action without an id: each needs a string of 1 to ${MAX_ACTION_ID_CHARS} characters.`;
    }
    if (ids.has(id)) return `It returned two next actions with the id ${JSON.stringify(id)}.`;
    ids.add(id);
  }
  return given as NextAction[];
}

function readError(error: unknown): ToolRunError {
  if (!isObject(error)) return bad('Its result is not a JSON result.');
  const { code, message, traceback } = error;
  return {
    code: typeof code === 'string' && FROM_RUNNER.has(code) ? (code as ToolRunError['code']) : 'code_error',
    message: stored(typeof message === 'string' ? message : 'It failed.').slice(0, MAX_MESSAGE_CHARS),
    // The end of a traceback names the error.
    traceback: typeof traceback === 'string' ? stored(traceback).slice(-MAX_TRACEBACK_CHARS) : null,
  };
}

/** Replaces U+0000 in texts of a sandbox: the records cannot store it. */
export function stored(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}

function bad(message: string): ToolRunError {
  return { code: 'bad_result', message, traceback: null };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function nameOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
