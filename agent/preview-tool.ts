/** A tool's result: text for the model, and data for programs. */
export interface ToolResult {
  /** For the model: what happened, and after a failure what to do next. */
  readonly text: string;
  readonly isError: boolean;
  /** On success: the API's response. */
  readonly data?: unknown;
  /**
   * On failure: Porthole's error code, e.g. `approval_denied`; absent if Porthole was not reached.
   */
  readonly code?: string;
}

/** A tool of an agent, in a form that every framework supports or can adapt. */
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
   * Rejects only when `signal` aborts: invalid input and Porthole's errors are results.
   */
  execute(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<ToolResult>;
}
