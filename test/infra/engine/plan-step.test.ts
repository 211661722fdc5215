import { describe, expect, test } from '@jest/globals';
import { changedPaths, deletionOrder, planStep, type ResourceState } from './plan-step.ts';
import { seal, Secret } from './wire-values.ts';

const state = (more: Partial<ResourceState>): ResourceState => ({
  urn: 'urn',
  type: 'kubernetes:core/v1:ConfigMap',
  name: 'settings',
  custom: true,
  id: 'ns/settings',
  inputs: { metadata: { name: 'settings' }, data: { a: '1' } },
  needs: [],
  ...more,
});
const step = (old: ResourceState | undefined, inputs: object, ignoreChanges: string[] = [], provider = {}) =>
  planStep(
    old,
    { type: old?.type ?? 'kubernetes:core/v1:ConfigMap', ignoreChanges },
    { ...inputs },
    provider,
  );

describe('what becomes of a resource', () => {
  const changed = { metadata: { name: 'settings' }, data: { a: '2' } };

  test('creates a new resource', () => {
    expect(step(undefined, changed)).toEqual({ op: 'create' });
  });

  test('does nothing to a resource with the same inputs', () => {
    expect(step(state({}), state({}).inputs)).toEqual({ op: 'same' });
  });

  test('replaces a resource with changed data, unless the provider may change it in place', () => {
    expect(step(state({}), changed)).toEqual({ op: 'replace', paths: ['data.a'] });
    expect(step(state({}), changed, [], { enableConfigMapMutable: 'true' })).toEqual({
      op: 'update',
      paths: ['data.a'],
    });
  });

  test('replaces a resource that has another name', () => {
    expect(step(state({}), { metadata: { name: 'other' }, data: { a: '1' } })).toEqual({
      op: 'replace',
      paths: ['metadata.name'],
    });
  });

  test('does nothing to a resource of which only ignored fields changed', () => {
    const old = state({
      type: 'kubernetes:apps/v1:Deployment',
      inputs: { spec: { replicas: 2, paused: false } },
    });
    expect(step(old, { spec: { replicas: 5, paused: false } }, ['spec.replicas'])).toEqual({ op: 'same' });
    expect(step(old, { spec: { replicas: 5, paused: true } }, ['spec.replicas'])).toEqual({
      op: 'update',
      paths: ['spec.paused'],
    });
  });
});

test('compares two values at their deepest paths', () => {
  expect(changedPaths({ a: [{ b: 1 }, { b: 2 }], c: 1 }, { a: [{ b: 1 }, { b: 3 }], d: 1 })).toEqual([
    'a[1].b',
    'c',
    'd',
  ]);
});

test('shows that a sealed secret changed, and nothing else', () => {
  const before = seal({ password: new Secret('hunter2') }, 'key');
  expect(JSON.stringify(before)).not.toContain('hunter2');
  expect(seal({ password: new Secret('hunter2') }, 'key')).toEqual(before);
  expect(seal({ password: new Secret('hunter3') }, 'key')).not.toEqual(before);
});

test('deletes everything before what it needs', () => {
  const chain = [
    state({ urn: 'namespace' }),
    state({ urn: 'component', needs: ['namespace'] }),
    state({ urn: 'object', needs: ['component'] }),
    state({ urn: 'route', needs: ['object', 'namespace'] }),
  ];
  expect(deletionOrder(chain).map(({ urn }) => urn)).toEqual(['route', 'object', 'component', 'namespace']);
});
