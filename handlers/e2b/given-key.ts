/**
 * A key of Porthole as hexadecimal digits after E2B's prefix. Some clients refuse a key of another
 * form before they send it.
 */
const HEX_KEY = /^e2b_((?:[0-9a-f]{2})+)$/;
const PRINTABLE = /^[\x21-\x7e]+$/;

/** The key that a client means. Digits that are not the text of a key are a key themselves. */
export function readGivenKey(given: string): string {
  const text = Buffer.from(HEX_KEY.exec(given)?.[1] ?? '', 'hex').toString('latin1');
  return PRINTABLE.test(text) ? text : given;
}
