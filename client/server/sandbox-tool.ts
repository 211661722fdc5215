/** The result of a tool, for the model. */
export interface ToolResult {
  /** The result, or after a failure what to do. */
  readonly text: string;
  readonly isError: boolean;
  /** After a failure: the API's code. */
  readonly code?: string;
}

/** A tool of an agent, in a form that every framework accepts. */
export interface SandboxTool {
  readonly name: 'read_file' | 'write_file' | 'exec_command';
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the model's input. */
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, object>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  /**
   * Never rejects for errors of the model or of Porthole: these are results. Rejects when `signal`
   * aborts.
   */
  run(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<ToolResult>;
}
