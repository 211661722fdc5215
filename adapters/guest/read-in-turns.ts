import type { Duplex } from 'node:stream';
import type { Pause } from '#core/processes/parse-in-turns.ts';

/** Bytes that are parsed at a time: the least, and more as long as they are cheap. */
const PIECE = { least: 4_096, most: 65_536 } as const;
/** Milliseconds for each byte: a hundred times what the parser needs for a body in one piece. */
const EXPENSIVE = 1 / 20_000;

/**
 * Reads a connection in turns of the event loop. A guest can make each byte cost what usually a
 * kilobyte costs, with chunks of one byte or interim responses. Call it after the parser listens,
 * and the function that it returns after another parser does. The parser resumes the connection
 * when its body is read; that waits for the next turn, too.
 */
export function readInTurns(stream: Duplex, pause: Pause): () => void {
  const push = stream.push.bind(stream);
  const resume = stream.resume.bind(stream);
  let most: number = PIECE.least;
  let begun = 0;
  let isHeld = false;
  let isWanted = false;

  const holdUnlessTurn = (): void => {
    const turn = isHeld ? undefined : pause();
    if (turn === undefined) return;
    isWanted = !stream.isPaused();
    isHeld = true;
    stream.pause();
    void turn.then(() => {
      isHeld = false;
      return isWanted && resume();
    });
  };

  stream.push = (chunk: Buffer | null): boolean => {
    holdUnlessTurn();
    if (chunk === null || chunk.length <= most) return push(chunk);
    let takesMore = true;
    for (let at = 0; at < chunk.length && !stream.destroyed; ) {
      const piece = chunk.subarray(at, at + most);
      at += piece.length;
      takesMore = push(piece);
    }
    return takesMore;
  };
  stream.resume = () => {
    if (!isHeld) return resume();
    isWanted = true;
    return stream;
  };
  const begin = (): void => {
    begun = performance.now();
  };
  const end = ({ length }: Buffer): void => {
    const isCheap = performance.now() - begun < length * EXPENSIVE;
    if (!isCheap) most = PIECE.least;
    else if (length >= most) most = Math.min(2 * most, PIECE.most);
    holdUnlessTurn();
  };
  const measure = (): void => {
    stream.off('data', begin).off('data', end);
    stream.prependListener('data', begin).on('data', end);
  };
  measure();
  return measure;
}
