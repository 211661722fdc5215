import { PortholeError } from '#base/errors.ts';
import type { NetworkAccess } from './network.ts';
import type { Records } from '../records.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { isWithin, MAX_RULES, type NetworkPolicy, type NetworkRule } from './network-policy.ts';
import { type NetworkMode } from '#protocol/settings/shared-values.ts';
import { isNetworkTool } from './ask-owner.ts';
import type { SandboxSecrets } from './network-secrets.ts';
import { requestedSecrets, type SecretInput } from './requested-secrets.ts';
import type { RuleInput } from './network-rule.ts';

/** A requested change of a sandbox's network. Omitted fields stay unchanged. */
export interface NetworkRequest {
  readonly network?: NetworkMode | boolean | undefined;
  readonly allow?: readonly RuleInput[] | undefined;
  readonly deny?: readonly RuleInput[] | undefined;
  readonly ask?: boolean | undefined;
  readonly secrets?: readonly SecretInput[] | undefined;
}

/**
 * Applies a request to a policy.
 * @throws PortholeError `invalid_request` with each invalid entry, `forbidden` beyond what the
 * installation permits, `network_not_supported` without a broker that makes the connections
 */
export async function requestedNetwork(
  network: Pick<NetworkAccess, 'widest' | 'isBrokered'>,
  before: NetworkPolicy,
  { network: asked, allow, deny, ask }: NetworkRequest,
): Promise<NetworkPolicy> {
  const mode = asked === true ? 'open' : asked === false ? 'off' : (asked ?? before.mode);
  const policy: NetworkPolicy = {
    mode,
    allow: allow === undefined ? before.allow : await readRules('allow', allow),
    deny: deny === undefined ? before.deny : await readRules('deny', deny),
    ask: ask ?? before.ask,
  };
  if (!isWithin(policy, network.widest)) {
    const what =
      policy.mode === 'open' ? 'network: "open"' : policy.allow.length > 0 ? 'allow' : `network: "${mode}"`;
    throw new PortholeError(
      'forbidden',
      `${what} is more than this installation permits (PORTHOLE_NETWORK_WIDEST=${network.widest}).`,
      { remedy: 'Ask your administrator.' },
    );
  }
  const isPlain = (mode === 'off' || mode === 'open') && policy.allow.length + policy.deny.length === 0;
  if (isPlain || (await network.isBrokered())) return policy;
  throw new PortholeError('network_not_supported', 'A sandbox of this provider has a network or none', {
    remedy: 'use network: "off" or "open", without allow and deny.',
  });
}

async function readRules(list: 'allow' | 'deny', entries: readonly RuleInput[]) {
  if (entries.length > MAX_RULES) {
    throw new PortholeError('invalid_request', `${list}: ${entries.length} entries, at most ${MAX_RULES}.`);
  }
  // Loaded on demand: it contains the list of public suffixes.
  const { readRule } = await import('./network-rule.ts');
  const rules = entries.map((entry) => readRule(entry, list));
  const problems = rules.filter((each) => typeof each === 'string');
  if (problems.length > 0) {
    throw new PortholeError('invalid_request', `${list}: ${problems.slice(0, 10).join('; ')}.`);
  }
  return rules.filter((each) => typeof each !== 'string');
}

/**
 * Changes a sandbox's network policy and secrets at once: open connections that are no longer
 * allowed end.
 * @throws PortholeError what `requestedNetwork` and `requestedSecrets` throw, and
 * `network_not_supported` where it cannot be changed
 */
export async function changeNetwork(
  deps: { readonly records: Pick<Records, 'sandboxes'>; readonly network: NetworkAccess },
  sandbox: SandboxRecord,
  request: NetworkRequest,
): Promise<{ readonly network: NetworkPolicy; readonly secrets: SandboxSecrets }> {
  const policy = await requestedNetwork(deps.network, sandbox.network, request);
  const secrets = await requestedSecrets(deps.network, { ...sandbox, network: policy }, request.secrets);
  if (!(await deps.network.isBrokered())) {
    throw new PortholeError(
      'network_not_supported',
      'The network of this sandbox is fixed when it is created.',
      { remedy: 'Create another one.' },
    );
  }
  if (request.secrets !== undefined) {
    await deps.records.sandboxes.setSecrets(sandbox, secrets);
    await deps.network.secretsChanged(sandbox.id);
  }
  await deps.records.sandboxes.setNetwork(sandbox, policy);
  await deps.network.policyChanged(sandbox.id);
  return { network: policy, secrets };
}

/**
 * The host that a question is about; undefined if the run has no such question, which the decision
 * then reports.
 * @throws PortholeError `invalid_request` for a question about something else
 */
export async function askedHost(
  { records }: { readonly records: Pick<Records, 'approvals'> },
  runId: string,
  requestId: string,
): Promise<NetworkRule | undefined> {
  const approval = await records.approvals.get(requestId);
  if (approval?.runId !== runId) return undefined;
  const { host, port } = approval.args;
  if (isNetworkTool(approval.tool) && typeof host === 'string' && typeof port === 'number') {
    return { host, ports: [port] };
  }
  throw new PortholeError('invalid_request', 'scope: only a host is denied always.', { remedy: 'Use once.' });
}

/** Adds a rule to the deny list of a sandbox, at once. */
export async function denyHost(
  deps: { readonly records: Pick<Records, 'sandboxes'>; readonly network: NetworkAccess },
  sandboxId: string,
  rule: NetworkRule,
): Promise<void> {
  const sandbox = await deps.records.sandboxes.get(sandboxId);
  if (sandbox === undefined) return;
  const { network: policy } = sandbox;
  const deny = [...policy.deny, rule].slice(-MAX_RULES);
  await deps.records.sandboxes.setNetwork(sandbox, { ...policy, deny });
  await deps.network.policyChanged(sandbox.id);
}
