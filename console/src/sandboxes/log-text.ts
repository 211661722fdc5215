/** Colours and titles of terminals, which a page does not show. */
// oxlint-disable-next-line no-control-regex -- control characters are what it removes
const ESCAPES = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])/g;
/** Control characters and bidirectional overrides, except line feed and tab. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}]/gu;

/** Characters kept of a log; older ones are dropped, at the start of a line. */
const MAX_LOG_CHARS = 200_000;

/** Output of a program as text: hostile, so nothing in it can hide or reorder what it says. */
export function logText(raw: string): string {
  return (
    raw
      .replace(ESCAPES, '')
      .replaceAll('\r\n', '\n')
      // A progress bar writes its line again.
      .replace(/(?<![^\n])[^\n]*\r/g, '')
      .replace(UNSEEN, '�')
  );
}

/** The log after more output. */
export function appendLog(log: string, more: string): string {
  const all = log + more;
  if (all.length <= MAX_LOG_CHARS) return all;
  const cut = all.slice(-MAX_LOG_CHARS);
  return cut.slice(cut.indexOf('\n') + 1);
}

/** The port of an address on loopback: for a program in the sandbox, the sandbox itself. */
export function localPort(url: URL | null): string | undefined {
  if (url === null || !/^(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/.test(url.hostname))
    return undefined;
  return url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
}
