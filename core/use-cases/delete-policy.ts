import { mayUsePolicy, type Person } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { Records } from '../ports/records.ts';

/**
 * Ends a policy: what it covered is asked about again. What it has approved stays approved.
 * @throws PortholeError `policy_not_found` (a foreign one too: its existence is nobody else's business)
 */
export async function deletePolicy(
  { records }: { readonly records: Pick<Records, 'policies'> },
  person: Person,
  id: string,
): Promise<void> {
  const policy = await records.policies.get(id);
  if (policy !== undefined && mayUsePolicy(person, policy) && (await records.policies.delete(id))) return;
  throw new PortholeError(
    'policy_not_found',
    `There is no policy ${id}: GET /api/approval-policies lists yours.`,
  );
}
