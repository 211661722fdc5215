/**
 * `Content-Disposition` of a download (RFC 6266): a name of ASCII alone for everybody, and the very one for who can read it. Nothing in either can end the header or name another folder.
 */
export function attachment(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._ -]/g, '_').replace(/^\.+/, '_');
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}
