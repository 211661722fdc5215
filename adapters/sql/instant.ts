/** RFC 3339 in UTC with milliseconds. Its order is time's order, so years outside 0000..9999 are a `RangeError`. */
export function instantText(at: Date): string {
  const text = at.toISOString();
  if (text.length !== 24) throw new RangeError(`${text} is outside the years 0000 to 9999`);
  return text;
}
