/** No document of an issuer is this long, in bytes. */
const MOST_BYTES = 262_144;

/** The JSON of an answer that may not be as short as it should. @throws where it is longer, cut off, or no JSON */
export async function boundedJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the answer has more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
}
