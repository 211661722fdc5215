import { amountOf, BINARY, DECIMAL } from '../base/quantity.ts';

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
