import { expect, test } from '@jest/globals';
import { readConfig } from '#host/config/config.ts';
import { recordProgram } from '../pulumi/record-program.ts';
import { accessPlan } from '../../infra/access.ts';
import { environmentPlan, secretsPlan } from '../../infra/environment.plan.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { MAIN, stackFile, values } from './support/stack-files.ts';

const fileWithout = (featuresOff: readonly string[], more: Readonly<Record<string, unknown>> = {}) =>
  stackFile({
    'porthole:functions': { image: 'registry.example.com/functions@sha256:0123', featuresOff },
    ...more,
  });
const config = (...given: Parameters<typeof fileWithout>) =>
  readStackConfig(values(fileWithout(...given)), () => true);

test('passes features that are off to the functions, and nothing if all are on', () => {
  const read = (off: readonly string[]) => {
    const given = config(off);
    return readConfig({ ...environmentPlan(given), ...secretsPlan(given) }).featuresOff;
  };
  expect(read(['mcp', 'pages'])).toEqual(new Set(['mcp', 'pages']));
  expect(environmentPlan(config([]))).not.toHaveProperty('PORTHOLE_FEATURES_OFF');
});

test('refuses a feature that cannot be off, and browsers without pages', () => {
  expect(() => config(['previews'])).toThrow('porthole:functions.featuresOff.0: ');
  expect(() => config(['pages'], { 'porthole:browsers': { image: 'browsers' } })).toThrow(
    'porthole:browsers: is not used while functions.featuresOff has pages: remove one of the two',
  );
});

test('gives the job of the editor no rights while the editor is off', () => {
  const accounts = (off: readonly string[]) => accessPlan(config(off)).map(({ id }) => id);
  expect(accounts(['mcp'])).toEqual(['functions', 'reaper', 'lifecycle', 'snapshots-clean']);
  expect(accounts(['editor'])).toEqual(['functions', 'reaper', 'lifecycle']);
});

test('makes no job of the editor while the editor is off', async () => {
  const { succeeded, registrations } = await recordProgram({
    project: 'porthole',
    stack: 'test',
    main: MAIN,
    stackFile: fileWithout(['editor']),
    dryRun: true,
    read: () => ({}),
  });
  expect(succeeded).toBe(true);
  const jobs = registrations.filter(({ type }) => type === 'kubernetes:batch/v1:CronJob');
  expect(jobs.map(({ name }) => name).toSorted()).toEqual(['porthole-lifecycle', 'porthole-reaper']);
}, 180_000);
