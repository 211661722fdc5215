/**
 * The session cookie. Over https it has the `__Host-` prefix: no other host, and no preview below
 * this host's name, can read or set it. Over plain http, which is on loopback, browsers reject such
 * a cookie: it has neither prefix nor `Secure`.
 * @param publicOrigin the configured origin at which people reach Porthole
 */
export function sessionCookie(publicOrigin: string | undefined): string {
  return isSecure(publicOrigin) ? '__Host-porthole-session' : 'porthole-session';
}

/** The cookie of a pending sign-in. */
export function signInCookie(publicOrigin: string | undefined): string {
  return isSecure(publicOrigin) ? '__Host-porthole-sign-in' : 'porthole-sign-in';
}

/**
 * `Set-Cookie`.
 * @param sameSite `Lax` for cookies needed when the identity provider redirects back
 * @param seconds 0 deletes it
 */
export function setCookie(
  name: string,
  value: string,
  { sameSite, seconds }: { readonly sameSite: 'Strict' | 'Lax'; readonly seconds: number },
): string {
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${secure}`;
}

/** `Set-Cookie` of a new session. */
export function sessionSetCookie(
  { sealed, expiresAt }: { readonly sealed: string; readonly expiresAt: Date },
  publicOrigin: string | undefined,
  now: Date,
): string {
  const seconds = Math.round((expiresAt.getTime() - now.getTime()) / 1_000);
  return setCookie(sessionCookie(publicOrigin), sealed, { sameSite: 'Strict', seconds });
}

/**
 * The value of the cookie in a `Cookie` header; if several have the name, none is trusted. Only
 * spaces and tabs are trimmed: browsers do not treat a name that begins with other white space
 * (U+00A0, which `trim` removes) as `__Host-`, so any host of the site may set it.
 */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((each) => each.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, ''))
    .filter((each) => each.startsWith(`${name}=`))
    .map((each) => each.slice(name.length + 1));
  return values.length === 1 && values[0] !== '' ? values[0] : undefined;
}

function isSecure(publicOrigin: string | undefined): boolean {
  return publicOrigin?.startsWith('https:') === true;
}
