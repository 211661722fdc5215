/** Factor of each unit of a Kubernetes quantity, the largest first. */
const BINARY = { Ti: 2 ** 40, Gi: 2 ** 30, Mi: 2 ** 20, Ki: 2 ** 10 };
const DECIMAL = { T: 1e12, G: 1e9, M: 1e6, k: 1e3, '': 1, m: 1e-3 };

const UNITS: Readonly<Record<string, number>> = { ...BINARY, ...DECIMAL };

/** What a Kubernetes quantity says. */
export function amountOf(quantity: string): number {
  const [, digits = '0', unit = ''] = /^([\d.]+)(\w*)$/.exec(quantity) ?? [];
  return Number(digits) * (UNITS[unit] ?? 1);
}

/**
 * The form in which the API server stores a quantity: a whole number of the largest unit.
 * Server-side apply compares texts, so that any other form would conflict with the same value.
 */
export function canonicalQuantity(quantity: string): string {
  const amount = amountOf(quantity);
  const isBinary = quantity.endsWith('i') && amount >= 1024;
  const thousandths = isBinary ? Math.ceil(amount * 1_000) : Math.round(amount * 1_000);
  const units = Object.entries(isBinary ? { ...BINARY, '': 1 } : DECIMAL);
  const [unit, factor] = units.find(([, each]) => thousandths % (each * 1_000) === 0) ?? ['m', 1e-3];
  return `${thousandths / (factor * 1_000)}${unit}`;
}
