import { StringDecoder } from 'node:string_decoder';

/**
 * The parts of a text that end with the separator, without it. A last part without one is left out.
 * Linear in the length, however small the pieces of the source are.
 * @throws Error for a part of over `longest` characters, and what the source fails with
 */
export async function* splitText(
  source: AsyncIterable<Buffer>,
  separator: string,
  longest: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8');
  let begun: string[] = [];
  let length = 0;
  /** The end of the text so far that may be the beginning of a separator. */
  let tail = '';
  for await (const chunk of source) {
    const text = tail + decoder.write(chunk);
    let from = 0;
    for (let end = text.indexOf(separator); end >= 0; end = text.indexOf(separator, from)) {
      const part = text.slice(from, end);
      if (length + part.length > longest) throw tooLong(longest);
      yield begun.length === 0 ? part : begun.join('') + part;
      begun = [];
      length = 0;
      from = end + separator.length;
    }
    const kept = Math.max(from, text.length - separator.length + 1);
    tail = text.slice(kept);
    if (kept > from) begun.push(text.slice(from, kept));
    length += kept - from;
    if (length > longest) throw tooLong(longest);
  }
}

function tooLong(longest: number): Error {
  return new Error(`a part of over ${longest} characters`);
}
