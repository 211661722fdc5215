import { expect, test } from '@jest/globals';
import { policyPort, policyRun } from '#core/approvals/approval-rules.ts';
import { breadth, POLICY_SCOPE_NAMES, scopeOf } from '#core/approvals/approval-scopes.ts';

const policyOf = (scope: (typeof POLICY_SCOPE_NAMES)[number]) => ({
  runId: policyRun(scope, 'run_1'),
  targetPort: policyPort(scope, { target_port: 3000 }),
});

test('names the scope that a policy was created with, and sorts policies from narrow to wide', () => {
  const policies = POLICY_SCOPE_NAMES.map(policyOf);
  expect(policies.map(scopeOf)).toEqual(POLICY_SCOPE_NAMES);
  expect(policies.toReversed().toSorted((a, b) => breadth(a) - breadth(b))).toEqual(policies);
});

test('rejects a scope of one port for a call without a port, and names the other scopes', () => {
  expect(() => policyPort('port', {})).toThrow(
    /^scope: port is for requests that name a target_port, and this one names none.*use once, run or always/,
  );
});
