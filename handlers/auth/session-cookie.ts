/**
 * The cookie of a session. Where people come over https it is a `__Host-` one: no other host, and
 * no preview below this one's name, can read it or put one in its place. Over plain http browsers
 * keep no such cookie: there, which is on loopback, it has neither prefix nor `Secure`.
 * @param publicOrigin the origin under which people reach Porthole, where that is configured
 */
export function sessionCookie(publicOrigin: string | undefined): string {
  return isSecure(publicOrigin) ? '__Host-porthole-session' : 'porthole-session';
}

/** The cookie of a sign-in that is under way. */
export function signInCookie(publicOrigin: string | undefined): string {
  return isSecure(publicOrigin) ? '__Host-porthole-sign-in' : 'porthole-sign-in';
}

/**
 * `Set-Cookie`.
 * @param sameSite `Lax` for what must come along when the identity provider sends the person back
 * @param seconds 0 takes it away
 */
export function setCookie(
  name: string,
  value: string,
  { sameSite, seconds }: { readonly sameSite: 'Strict' | 'Lax'; readonly seconds: number },
): string {
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${secure}`;
}

/**
 * The value of the cookie in a `Cookie` header; of several of a name, none is to be trusted. Blanks
 * around a cookie are spaces and tabs alone: a name that begins with another blank (U+00A0, which
 * `trim` takes away) is no `__Host-` one to a browser, so that any host of the site may set it.
 */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((each) => each.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((each) => each.startsWith(`${name}=`))
    .map((each) => each.slice(name.length + 1));
  return values.length === 1 && values[0] !== '' ? values[0] : undefined;
}

function isSecure(publicOrigin: string | undefined): boolean {
  return publicOrigin?.startsWith('https:') === true;
}
