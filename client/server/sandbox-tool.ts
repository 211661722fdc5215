/** What a tool says to the model. */
export interface ToolResult {
  /** What came of it, or what to do where nothing did. */
  readonly text: string;
  readonly isError: boolean;
  /** Where it failed: the API's code. */
  readonly code?: string;
}

/** A tool of an agent, in the form that every framework knows or can be given. */
export interface SandboxTool {
  readonly name: 'read_file' | 'write_file' | 'exec_command';
  readonly description: string;
  /** JSON Schema (draft 2020-12) of what the model supplies. */
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, object>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  /**
   * Never rejects for what the model or Porthole says: that is a result, too. Rejects when `signal`
   * aborts.
   */
  run(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<ToolResult>;
}
