/** What a tool says to the model, in words, and what a program may want to know besides. */
export interface ToolResult {
  /** For the model: what happened, and what to do about it where it did not work. */
  readonly text: string;
  readonly isError: boolean;
  /** Where it worked: the API's own answer. */
  readonly data?: unknown;
  /**
   * Where it did not: Porthole's error code, e.g. `approval_denied`; absent where Porthole was not
   * reached.
   */
  readonly code?: string;
}

/** A tool of an agent, in the form that every framework knows or can be given. */
export interface PreviewTool {
  readonly name: 'start_preview' | 'stop_preview' | 'preview_status';
  readonly description: string;
  /** JSON Schema (draft 2020-12) of what the model supplies. */
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, object>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  /**
   * Never rejects because of what the model or Porthole says: that is a result, too. Rejects when
   * `signal` aborts.
   */
  execute(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<ToolResult>;
}
