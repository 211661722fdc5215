import type { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import type { Services } from '../services.ts';

/** Who calls a tool, and what it works with. */
export interface ToolContext {
  readonly caller: Caller;
  readonly services: Services;
  /** `Mcp-Session-Id`: absent from clients that keep no session. */
  readonly sessionId: string | undefined;
  /** Aborted when the client goes away or cancels. */
  readonly signal: AbortSignal;
  /** Reports progress of a long call. Never fails. */
  readonly progress: (progress: number, total: number, message: string) => void;
}

/** What a tool answers: the same for programs and for the model. */
export interface ToolAnswer<Output> {
  readonly data: Output;
  readonly text: string;
  readonly image?: { readonly mimeType: string; readonly data: string } | undefined;
}

export interface McpTool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** For the model: what it does, when to use it, what to do first. */
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  /** Hints for clients, as the protocol names them. */
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
  };
  /** @throws PortholeError which the client gets as a result that is an error */
  run(input: z.output<Input>, context: ToolContext): Promise<ToolAnswer<z.input<Output>>>;
}

/** Infers the types from the schemas, and forgets them for the list of tools. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: McpTool<Input, Output>,
): McpTool {
  return tool;
}
