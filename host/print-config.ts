/**
 * `npm run config`: every setting, its default and its meaning; `npm run config -- guest-keys`: the
 * value for `sandboxes.guestKeys`; `npm run admin-key`: a new admin key, shown once, and the
 * setting that holds its hash.
 */
import { randomBytes } from 'node:crypto';
import { createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { JwksSchema } from '#protocol/settings/shared-values.ts';
import { hashedKey } from '#adapters/auth/sealed-sessions.ts';
import { settingTexts } from '#protocol/settings/setting-texts.ts';

// EPIPE: a reader that stops early, such as `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

if (process.argv[2] === 'guest-keys') {
  const text = process.env['PORTHOLE_SIGNING_KEYS'];
  if (text === undefined) throw new Error('PORTHOLE_SIGNING_KEYS is not set, which the keys come from');
  const keys = deriveKeySet(JwksSchema.parse(JSON.parse(text)));
  process.stdout.write(`${createGuestKeys(keys).publicKeys}\n`);
  process.exit();
}

if (process.argv[2] === 'admin-key') {
  const key = randomBytes(24).toString('hex');
  process.stderr.write(`Your admin key, which is shown only here: keep it.\n\n  ${key}\n\n`);
  // The setting alone goes to stdout, so that it can be appended to a file.
  process.stdout.write(`SANDBOX_API_KEY=${hashedKey(key)}\n`);
  process.exit();
}

for (const { name, default: fallback, meaning } of settingTexts()) {
  const shown = fallback === undefined ? '' : ` (default: ${fallback})`;
  process.stdout.write(`${name}${shown}\n    ${meaning}\n`);
}
