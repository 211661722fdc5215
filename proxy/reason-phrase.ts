/** The words that go with an HTTP status; none where Node knows none. */
export function reasonPhrase(status: number): string {
  // Not imported: with the names of `node:http` comes its whole WebSocket client, 40 ms of every start.
  return process.getBuiltinModule('node:http').STATUS_CODES[status] ?? '';
}
