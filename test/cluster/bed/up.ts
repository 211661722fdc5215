/** Brings the test cluster up. Exit status 2 when the machine lacks something, 1 when it fails otherwise. */
import { sharedBed } from './bed-place.ts';
import { BedMissing, bringUp } from './bring-up.ts';
import { adminKubeconfig } from './furnish-run-folder.ts';
import { ownClusterMissing, ownKubeconfig } from './own-cluster.ts';
import { cacheFolder } from './program-cache.ts';

const began = performance.now();

function say(line: string): void {
  const seconds = ((performance.now() - began) / 1_000).toFixed(1).padStart(6);
  process.stdout.write(`[${seconds} s] ${line}\n`);
}

const own = ownKubeconfig();
if (own !== undefined) {
  const missing = ownClusterMissing();
  say(`KUBECONFIG is set: the suites use the cluster of ${own}, and nothing is started`);
  if (missing !== undefined) {
    process.stderr.write(`${missing}\n`);
    process.exitCode = 2;
  }
} else {
  try {
    const place = sharedBed();
    await bringUp(place, cacheFolder(), say);
    say(`up; its kubeconfig is ${adminKubeconfig(place.runFolder)}; npm run cluster:down ends it`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof BedMissing ? 2 : 1;
  }
}
