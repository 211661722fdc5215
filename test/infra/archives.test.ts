import { describe, expect, test } from '@jest/globals';
import { readConfig } from '#host/config/config.ts';
import { accessPlan } from '../../infra/access.ts';
import { archiveEnvironmentPlan, archiveSecretPlan } from '../../infra/archives.plan.ts';
import { environmentPlan, secretsPlan } from '../../infra/environment.plan.ts';
import { deploymentPlan } from '../../infra/functions.ts';
import { lifecyclePlan, reaperPlan, snapshotsPlan, warmPoolPlan } from '../../infra/scheduled-jobs.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { stackFile, values } from './support/stack-files.ts';

const KEYS = { 'porthole:archiveAccessKeyId': 'AKID', 'porthole:archiveSecretAccessKey': 'of-the-bucket' };
const POOLS = {
  templates: { node: { image: 'node' } },
  warmPools: { ready: { template: 'node' } },
  warmPoolTarget: 1,
};

const config = (more: Readonly<Record<string, unknown>> = {}) =>
  readStackConfig(values(stackFile(more)), () => true);
const archiving = (more: Readonly<Record<string, unknown>> = {}) =>
  config({ 'porthole:archives': { bucket: 'kept' }, ...KEYS, ...more });

/** The environment of a stack's containers in addition to the common one, by reader. */
function variables(given: ReturnType<typeof config>): Record<string, unknown> {
  const plans = {
    lifecycle: lifecyclePlan(given),
    reaper: reaperPlan(given),
    snapshots: snapshotsPlan(given),
    pool: warmPoolPlan(given),
  };
  const passes = Object.entries(plans).map(([who, plan]) => [
    who,
    plan?.spec.jobTemplate.spec.template.spec.containers[0]?.env,
  ]);
  const functions = deploymentPlan(given).spec.template.spec.containers[0]?.env;
  return { functions, ...Object.fromEntries(passes) };
}

const reference = (name: string, key: string) => ({ name: key, valueFrom: { secretKeyRef: { name, key } } });

describe('a stack that archives', () => {
  test('gives the bucket only to the functions and the lifecycle, by reference to its keys', () => {
    const env = [
      { name: 'PORTHOLE_ARCHIVE_BUCKET', value: 'kept' },
      { name: 'PORTHOLE_ARCHIVE_REGION', value: 'us-east-1' },
      reference('porthole-archives', 'PORTHOLE_ARCHIVE_ACCESS_KEY_ID'),
      reference('porthole-archives', 'PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY'),
    ];
    const given = archiving({ 'porthole:sandboxes': POOLS });
    expect(variables(given)).toEqual({ functions: env, lifecycle: env });
    expect(JSON.stringify([environmentPlan(given), secretsPlan(given)])).not.toMatch(/ARCHIVE|of-the-bucket/);
  });

  test('says where the bucket is, in words that the functions accept', () => {
    const given = archiving({
      'porthole:archives': { bucket: 'kept', region: 'eu-west-1', endpoint: 'https://s3.example.com' },
    });
    const keys: Readonly<Record<string, string>> = archiveSecretPlan(given) ?? {};
    const env = archiveEnvironmentPlan(given).map((variable) => [
      variable.name,
      'value' in variable ? variable.value : keys[variable.valueFrom.secretKeyRef.key],
    ]);
    const read = readConfig({
      ...environmentPlan(given),
      ...secretsPlan(given),
      ...(Object.fromEntries(env) as Record<string, string>),
    });
    expect(read.archive).toEqual({
      bucket: 'kept',
      region: 'eu-west-1',
      endpoint: new URL('https://s3.example.com'),
      credentials: { accessKeyId: 'AKID', secretAccessKey: 'of-the-bucket' },
    });
  });

  test('refers to the Secret that others keep, and makes none', () => {
    const given = config({ 'porthole:archives': { bucket: 'kept', existingSecret: 'theirs' } });
    expect(archiveEnvironmentPlan(given).slice(2)).toEqual([
      reference('theirs', 'PORTHOLE_ARCHIVE_ACCESS_KEY_ID'),
      reference('theirs', 'PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY'),
    ]);
    expect(archiveSecretPlan(given)).toBeUndefined();
  });

  test('gives a pass the time for the longest archive', () => {
    const seconds = (given: ReturnType<typeof config>) =>
      lifecyclePlan(given).spec.jobTemplate.spec.activeDeadlineSeconds;
    expect([seconds(config()), seconds(archiving())]).toEqual([110, 1_910]);
  });
});

test('contains nothing about archives when the stack archives nothing', () => {
  const given = config({ 'porthole:sandboxes': POOLS });
  expect(variables(given)).toEqual({});
  expect(archiveSecretPlan(given)).toBeUndefined();
});

describe('the rights of the lifecycle', () => {
  const more = (sandboxes: object) => {
    const rights = (given: ReturnType<typeof config>) =>
      accessPlan(given)
        .find(({ id }) => id === 'lifecycle')
        ?.role.rules.flatMap(({ resources, verbs }) => verbs.map((verb) => `${verb} ${resources.join()}`)) ??
      [];
    const without = rights(config({ 'porthole:sandboxes': sandboxes }));
    const all = rights(archiving({ 'porthole:sandboxes': sandboxes }));
    expect(all).toEqual(expect.arrayContaining(without));
    return all.filter((right) => !without.includes(right));
  };

  test('are wider with archives: to start a pod, since its guest reads the files', () => {
    expect(more({ image: 'node' })).toEqual(['create pods']);
    expect(more(POOLS)).toEqual([]);
    expect(more({ ...POOLS, provider: 'auto', image: 'node' })).toEqual(['create pods']);
  });

  test('leave those of functions and reaper as they are', () => {
    const others = (given: ReturnType<typeof config>) =>
      accessPlan(given).filter(({ id }) => id !== 'lifecycle');
    expect(others(archiving())).toEqual(others(config()));
  });
});
