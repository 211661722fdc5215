/**
 * Takes the first bytes of a stream, in memory of their own; fewer if it ends. What follows can be
 * read from `rest`, once.
 */
export async function takeFirst(
  source: AsyncIterable<Buffer>,
  bytes: number,
): Promise<{ readonly first: Buffer; readonly rest: AsyncIterable<Buffer> }> {
  const pieces = source[Symbol.asyncIterator]();
  const taken: Buffer[] = [];
  let missing = bytes;
  let left: Buffer = Buffer.alloc(0);
  while (missing > 0) {
    const { value, done } = await pieces.next();
    if (done === true) break;
    taken.push(Buffer.from(value.subarray(0, missing)));
    left = value.subarray(missing);
    missing -= value.length - left.length;
  }
  async function* rest() {
    if (left.length > 0) yield left;
    yield* { [Symbol.asyncIterator]: () => pieces };
  }
  return { first: Buffer.concat(taken), rest: rest() };
}
