/** Whether JSON holds a number beyond every double, such as 1e400: it is read as infinite, and would be written as null. Does not recurse, whatever it is given. */
export function isBeyondNumbers(value: unknown): boolean {
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const each = rest.pop();
    if (typeof each === 'number' && !Number.isFinite(each)) return true;
    if (typeof each !== 'object' || each === null) continue;
    for (const inner of Object.values(each)) rest.push(inner);
  }
  return false;
}
