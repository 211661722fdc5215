import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { type Jwks, JwksSchema } from '#protocol/settings/shared-values.ts';

/**
 * The key set of one machine, created at the first start (mode 0600). Written to a temporary file
 * and linked into place: concurrent first starts agree on one key, and a crash leaves no partial
 * file.
 */
export async function loadOrCreateJwks(file: string): Promise<Jwks> {
  const present = await readJwks(file);
  if (present !== undefined) return present;
  const kid = randomBytes(6).toString('hex');
  const fresh: Jwks = { keys: [{ kty: 'oct', kid, k: randomBytes(32).toString('base64url') }] };
  const aside = `${file}.${kid}`;
  await writeFile(aside, `${JSON.stringify(fresh)}\n`, { flag: 'wx', mode: 0o600, flush: true });
  try {
    await link(aside, file);
    return fresh;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await readJwks(file)) ?? fresh;
  } finally {
    await rm(aside, { force: true });
  }
}

async function readJwks(file: string): Promise<Jwks | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JwksSchema.parse(JSON.parse(text));
  } catch {
    // The parser's message may contain a part of the key.
    throw new Error(
      `${file} is not a key set: put the right file back, or remove it and accept that agent tokens and preview URLs change.`,
    );
  }
}
