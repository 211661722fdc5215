/** Takes secrets out of a text, however they came into it. */
export function redact(text: string, secrets: readonly (string | undefined)[]): string {
  return secrets.reduce<string>(
    (left, secret) => (secret === undefined || secret === '' ? left : left.replaceAll(secret, '[secret]')),
    text,
  );
}
