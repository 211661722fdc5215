export interface Page<T> {
  readonly items: readonly T[];
  /** Pass it as `after` to get what follows; null on the last page. */
  readonly next: string | null;
}

export interface PageRequest {
  /** 1..1000 */
  readonly limit: number;
  readonly after?: string | undefined;
}
