/** Fresh identifiers. */
export interface Ids {
  /** `run_` + ULID. */
  run(): string;
  /** 26 characters of lower-case base32 (128 random bits), as the sandbox bridge makes them. */
  sandbox(): string;
  /** `apr_` + ULID. */
  approval(): string;
  /** `pol_` + ULID. */
  policy(): string;
  /** `tool_` + ULID. */
  tool(): string;
  /** `ver_` + ULID. */
  toolVersion(): string;
  /** `trun_` + ULID. */
  toolRun(): string;
  /** `snap_` + ULID. */
  snapshot(): string;
  /** `dlg_` + ULID. */
  delegation(): string;
  /** `session-` + milliseconds since 1970, as the sandbox bridge makes them, and some random letters. */
  session(now: Date): string;
  /** An opaque id for one request, for the log and the `X-Request-Id` header. */
  request(): string;
}
