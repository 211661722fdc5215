import { PortholeError } from '#base/errors.ts';
import { isGivenName, MAX_NAME_LENGTH } from './preview-token.ts';

/** Words that no part between hyphens may be: addresses that people trust without a thought. */
const RESERVED: ReadonlySet<string> = new Set(
  (
    'abuse account accounts admin api apple app auth aws bank banking billing cdn checkout console dns docs ftp help ' +
    'id imap invoice mail mfa open otp pay payments pop porthole postmaster preview reset root saml security ' +
    'server smtp sso status support token vpn webmail www'
  ).split(' '),
);

/** What no name may contain, with or without hyphens: pages that ask for a password. */
const PHISHING =
  /login|logon|signin|signon|signup|passw|passkey|verif|authent|authori[sz]|oauth|wallet|payment|paypal|google|gmail|microsoft|office365|outlook|icloud|appleid|amazon|facebook|instagram|whatsapp|netflix|github|gitlab|dropbox|docusign|coinbase|binance|metamask|webmail|helpdesk/;

/** Digits that are read as letters. */
const LETTERS: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'l',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
};

/**
 * Whether a name may be a part of a host. Visitors read the host before they are admitted, so it
 * must not look like a place where they sign in or pay.
 * @throws PortholeError `invalid_request`
 */
export function checkGivenName(name: string): void {
  if (!isGivenName(name)) {
    throw refused(
      name,
      'is not a DNS label',
      `use 3 to ${MAX_NAME_LENGTH} of a-z, 0-9 and -, and start with a letter.`,
    );
  }
  // In the third and fourth place they mark encoded Unicode (RFC 5891 section 4.2.3.1).
  if (name.includes('--')) throw refused(name, 'has two hyphens in a row', 'use one.');
  const readings = [name, name.replace(/[013457]/g, (digit) => LETTERS[digit] ?? digit)];
  const isTrusted = readings.some(
    (reading) =>
      PHISHING.test(reading.replaceAll('-', '')) || reading.split('-').some((word) => RESERVED.has(word)),
  );
  if (isTrusted) throw refused(name, 'looks like a service that people trust', 'choose another name.');
}

function refused(name: string, why: string, remedy: string): PortholeError {
  return new PortholeError('invalid_request', `name: ${JSON.stringify(name.slice(0, 80))} ${why}`, {
    remedy,
  });
}
