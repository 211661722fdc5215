/** The edited text; `found` counts where the old text was. */
export interface TextEdit {
  readonly text: string;
  readonly found: number;
}

/**
 * Replaces a text wherever it is. Models write line feeds alone: where lines end with CRLF, both
 * texts get that ending, unless the old one has a carriage return.
 */
export function editText(text: string, oldText: string, newText: string): TextEdit {
  const written = replaced(text, oldText, newText);
  if (oldText.includes('\r')) {
    return written.found > 0 ? written : replaced(text, lineFeeds(oldText), lineFeeds(newText));
  }
  const adapted = replaced(text, carriageReturns(oldText), carriageReturns(newText));
  const first = hasMostlyCrlf(text) ? adapted : written;
  const second = first === adapted ? written : adapted;
  return first.found > 0 ? first : second;
}

function replaced(text: string, oldText: string, newText: string): TextEdit {
  const parts = text.split(oldText);
  return { text: parts.join(newText), found: parts.length - 1 };
}

function hasMostlyCrlf(text: string): boolean {
  const count = (ending: string): number => text.split(ending).length - 1;
  return count('\r\n') * 2 > count('\n');
}

function carriageReturns(text: string): string {
  return lineFeeds(text).replaceAll('\n', '\r\n');
}

function lineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
