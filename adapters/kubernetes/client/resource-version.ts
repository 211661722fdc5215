const DECIMAL = /^[1-9]\d*$/;

/**
 * Whether one `resourceVersion` was written before another. Of one resource type they are decimal numbers that grow with every write (KEP-5504; and so they have
 * always been, as revisions of etcd). What is no such number comes first.
 */
export function isEarlier(one: string, other: string): boolean {
  if (!DECIMAL.test(one) || !DECIMAL.test(other)) return !DECIMAL.test(one) && DECIMAL.test(other);
  return one.length !== other.length ? one.length < other.length : one < other;
}
