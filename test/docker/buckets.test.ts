import { expect, jest, test } from '@jest/globals';
import { containerProcess } from '#adapters/docker/container-state.ts';
import { containerMountTarget } from '#adapters/mounts/container-mount-target.ts';
import { NamespaceMounter } from '#adapters/mounts/namespace-mounter.ts';
import type { BucketMount } from '#core/mounts/mount-bucket.ts';
import { bucketMounterContract } from '#test/contracts/bucket-mounter.contract.ts';
import { bucketsMissing, startS3 } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

suite('buckets in a container', engineMissing() ?? bucketsMissing, () => {
  let engine: TestEngine;
  bucketMounterContract(async () => {
    engine = await openTestEngine();
    const provider = engine.openProvider();
    return {
      provider,
      target: async (id, path, signal) =>
        containerMountTarget(id, await provider.firstProcess(id, signal), path),
      refusal: 'Permission denied',
      holder: async (id) => (await provider.firstProcess(id))?.pid,
      async kill(id) {
        const { podName } = await provider.inspect(id);
        await engine.docker.getContainer(podName).kill();
      },
      async end() {
        await provider.close();
        await engine.stop();
      },
    };
  });

  const mount = (endpoint: string): BucketMount => ({
    mountPath: '/mnt/data',
    bucket: 'data',
    endpoint,
    prefix: '/',
    readOnly: false,
    credentials: { accessKeyId: 'PORTHOLETESTKEY', secretAccessKey: 'test-secret-+/=-0123456789' },
    s3fsOptions: ['use_path_request_style'],
  });

  test('are unmounted when their container ends by itself', async () => {
    const s3 = await startS3();
    await s3.request('PUT', '/data');
    const provider = engine.openProvider();
    const lost = Promise.withResolvers<string>();
    const mounter = new NamespaceMounter({
      target: async (id, path, signal) =>
        containerMountTarget(id, await provider.firstProcess(id, signal), path),
      lost: (_id, path) => lost.resolve(path),
    });
    await provider.create({ id: 'dying' });
    await mounter.mount('dying', mount(s3.endpoint));
    const { podName } = await provider.inspect('dying');
    await engine.docker.getContainer(podName).kill();
    expect(await lost.promise).toBe('/mnt/data');
    await mounter.close();
    await provider.destroy('dying');
    await provider.close();
    await s3.stop();
  });

  test('asks to restart a container of an earlier version, without a folder for mounts', async () => {
    const made = await engine.docker.createContainer({
      Image: engine.plainImage,
      Cmd: ['sleep', '1000'],
      NetworkDisabled: true,
      HostConfig: { ReadonlyRootfs: true, NetworkMode: 'none' },
    });
    await made.start();
    try {
      const mounter = new NamespaceMounter({
        target: async (id, path) => containerMountTarget(id, await containerProcess(made.id), path),
        lost: () => {},
      });
      await expect(mounter.mount('old', mount('http://127.0.0.1:1'))).rejects.toMatchObject({
        code: 'mount_error',
        message:
          'mount failed: the sandbox was started by an earlier version of Porthole: stop it and resume it',
      });
    } finally {
      await made.remove({ force: true });
    }
  });

  test('name the container as missing when it is no process of this machine', async () => {
    const holder = await containerProcess('0'.repeat(64));
    expect(holder).toBeUndefined();
    expect(() => containerMountTarget('bucketsandbox', holder, '/mnt/data')).toThrow(
      'mount failed: the container is no process that this Porthole sees: it must run on the machine of the container engine, outside of containers',
    );
  });

  test('tells a host that is not root that it must be', () => {
    const user = jest.spyOn(process, 'getuid').mockReturnValue(1000);
    try {
      expect(() => containerMountTarget('bucketsandbox', undefined, '/mnt/data')).toThrow(
        'mount failed: only root may mount in a container: start Porthole as root, on Linux and on the machine of the container engine',
      );
    } finally {
      user.mockRestore();
    }
  });
});
