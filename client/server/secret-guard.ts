/** Minimum length in characters: shorter values occur in any text, so they are not secrets. */
const LEAST = 8;

/** Names of environment variables that usually hold secrets. */
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|_DSN|DATABASE_URL)$/i;

/** The values of an environment that are secrets, by the variables' names. */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value !== undefined && value.length >= LEAST ? [value] : [],
  );
}

/** Whether a text contains a secret: plain, in base64, in hexadecimal or percent-encoded. */
export function holdsSecret(text: string, secrets: readonly string[]): boolean {
  return secrets.some(
    (secret) => secret.length >= LEAST && formsOf(secret).some((form) => text.includes(form)),
  );
}

function formsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [secret, encodeURIComponent(secret), hex, hex.toUpperCase(), ...base64Forms(bytes)];
}

/**
 * Base64 of a text depends on its offset modulo 3 and, at both ends, on its neighbours; so there
 * are three forms, without their ends.
 */
function base64Forms(bytes: Uint8Array): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const shifted = new Uint8Array([...new Uint8Array(before), ...bytes]);
    const whole = btoa(String.fromCharCode(...shifted)).replace(/={1,2}$/, '');
    const form = whole.slice(Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6));
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
