import type { ResourceLink } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import type { OptionalFeature } from '#protocol/settings/optional-features.ts';
import type { Services } from '../services.ts';

/** The caller of a tool, and its services. */
export interface ToolContext {
  readonly caller: Caller;
  readonly services: Services;
  /** `Mcp-Session-Id`: absent for clients without a session. */
  readonly sessionId: string | undefined;
  /** The host at which the client has reached Porthole. */
  readonly host: string | undefined;
  /** Aborts when the client disconnects or cancels. */
  readonly signal: AbortSignal;
  /**
   * Tells the client what the call waits for and for how many seconds at most, at once and then
   * every ten seconds. Never fails. Other long calls report only their duration.
   */
  readonly waitsFor: (message: string, seconds: number) => void;
  /** Removes credentials of Porthole from a text. */
  readonly redact: (text: string) => string;
}

/** The result of a tool, for programs and the model alike. */
export interface ToolAnswer<Output> {
  readonly data: Output;
  readonly text: string;
  readonly image?: { readonly mimeType: string; readonly data: string } | undefined;
  /** Where all of it is, if the text and the data have only a part. */
  readonly whole?: ResourceLink | undefined;
}

export interface McpTool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** For the model: what it does, when to use it, what to do first. */
  readonly description: string;
  /** For people only: an agent does not see it. @default false */
  readonly people?: true;
  /** The feature that it belongs to, if that can be off. */
  readonly feature?: OptionalFeature;
  /** Chat applications show the page of `preview-app.ts` for its calls. @default false */
  readonly isShown?: true;
  readonly input: Input;
  readonly output: Output;
  /** Hints for clients, in the protocol's names. */
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
  };
  /** @throws PortholeError which the client gets as an error result */
  run(input: z.output<Input>, context: ToolContext): Promise<ToolAnswer<z.input<Output>>>;
}

/** As many of the first items as fit into so many characters of JSON. */
export function fitting<T>(items: readonly T[], characters: number): T[] {
  let left = characters;
  const end = items.findIndex((item) => (left -= JSON.stringify(item).length + 1) < 0);
  return items.slice(0, end === -1 ? undefined : end);
}

/** Infers the types from the schemas and erases them for the list of tools. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: McpTool<Input, Output>,
): McpTool {
  return tool;
}
