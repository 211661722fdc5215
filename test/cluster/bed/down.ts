/** Ends the test cluster and removes what it left. */
import { sharedBed } from './bed-place.ts';
import { exclusive } from './exclusive.ts';
import { cacheFolder } from './program-cache.ts';
import { takeDown } from './take-down.ts';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

await exclusive(cacheFolder(), say, async () => takeDown(sharedBed()));
say('the test cluster is down');
