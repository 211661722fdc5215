type Labels = Readonly<Record<string, string>>;

/**
 * The objects that a label selector selects, like kube-apiserver: `notin` and `!=` also select
 * objects without the label.
 * @throws Error on an invalid selector
 */
export function labelSelector(text: string): (labels: Labels) => boolean {
  const sandboxOptions = text === '' ? [] : text.split(/,(?![^(]*\))/).map(term);
  return (labels) => sandboxOptions.every((matches) => matches(labels));
}

const KEY = String.raw`[A-Za-z0-9./_-]+`;

function term(text: string): (labels: Labels) => boolean {
  const set = new RegExp(`^(${KEY}) (in|notin) \\(([^()]+)\\)$`).exec(text);
  if (set !== null) {
    const [, key, operator, values] = set as unknown as [string, string, string, string];
    const among = new Set(values.split(','));
    return (labels) => among.has(labels[key] ?? '') === (operator === 'in');
  }
  const equality = new RegExp(`^(${KEY})(=|==|!=)([A-Za-z0-9._-]*)$`).exec(text);
  if (equality !== null) {
    const [, key, operator, value] = equality as unknown as [string, string, string, string];
    return (labels) => (labels[key] === value) === (operator !== '!=');
  }
  const existence = new RegExp(`^(!?)(${KEY})$`).exec(text);
  if (existence !== null) {
    const [, not, key] = existence as unknown as [string, string, string];
    return (labels) => Object.hasOwn(labels, key) === (not === '');
  }
  throw new Error(`unable to parse requirement: ${text}`);
}
