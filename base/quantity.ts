/** Factor of each unit of a Kubernetes quantity, the largest first. */
export const BINARY = { Ti: 2 ** 40, Gi: 2 ** 30, Mi: 2 ** 20, Ki: 2 ** 10 };
export const DECIMAL = { T: 1e12, G: 1e9, M: 1e6, k: 1e3, '': 1, m: 1e-3 };

const UNITS: Readonly<Record<string, number>> = { ...BINARY, ...DECIMAL };

/** What a Kubernetes quantity says. */
export function amountOf(quantity: string): number {
  const [, digits = '0', unit = ''] = /^([\d.]+)([A-Za-z]*)$/.exec(quantity) ?? [];
  return Number(digits) * (UNITS[unit] ?? 1);
}
