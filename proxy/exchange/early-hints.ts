import type { ResponseHead } from '../upstream/response-head.ts';

/**
 * The links of an answer with status 103, each by itself: Node joins them with commas, and takes
 * only one at a time. Links that Node refuses are left out, since a lost hint does no harm.
 */
export function hintedLinks({ rawHeaders }: Pick<ResponseHead, 'rawHeaders'>): readonly string[] {
  const links: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'link') links.push(...splitLinks(rawHeaders[at + 1] ?? ''));
  }
  return links.filter(isAccepted);
}

/** At the commas that are neither in a URL nor in a quoted text (RFC 8288 §3). */
function splitLinks(value: string): readonly string[] {
  const links: string[] = [];
  let from = 0;
  let until = '';
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at];
    if (until !== '') {
      if (until === '"' && character === '\\') at += 1;
      else if (character === until) until = '';
    } else if (character === '<') until = '>';
    else if (character === '"') until = '"';
    else if (character === ',') {
      links.push(value.slice(from, at).trim());
      from = at + 1;
    }
  }
  return [...links, value.slice(from).trim()];
}

/** Node's format: a URL, then parameters without white space and semicolons in their values. */
function isAccepted(link: string): boolean {
  const end = link.indexOf('>');
  if (!link.startsWith('<') || end === -1) return false;
  const [rest, ...parameters] = link.slice(end + 1).split(';');
  return rest?.trim() === '' && parameters.every((parameter) => isPlainParameter(parameter.trim()));
}

function isPlainParameter(parameter: string): boolean {
  const [name = '', ...values] = parameter.split('=');
  const value = values.join('=');
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  const text = isQuoted ? value.slice(1, -1) : value;
  return name !== '' && !/[\s"]/.test(name) && !/[\s"]/.test(text);
}
