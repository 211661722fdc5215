import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Mount points of every cgroup hierarchy: one a controller with version 1, one in all with version 2, or both. */
export function cgroupHierarchies(mountinfo = readFileSync('/proc/self/mountinfo', 'utf8')): string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const mountPoint = before.split(' ')[4];
    const type = after.split(' ')[0];
    return mountPoint !== undefined && (type === 'cgroup' || type === 'cgroup2') ? [mountPoint] : [];
  });
}

/** Makes a group of that name in every hierarchy. */
export function makeCgroups(name: string): void {
  for (const hierarchy of cgroupHierarchies()) {
    mkdirSync(join(hierarchy, name), { recursive: true });
    passOnControllers(hierarchy);
  }
}

/** With version 2 a group has only the controllers that its parent passes on, and kubelet looks for them all. */
function passOnControllers(hierarchy: string): void {
  const available = join(hierarchy, 'cgroup.controllers');
  if (!existsSync(available)) return;
  const controllers = readFileSync(available, 'utf8').split(/\s+/).filter(Boolean);
  const passedOn = controllers.map((controller) => `+${controller}`).join(' ');
  if (passedOn !== '') writeFileSync(join(hierarchy, 'cgroup.subtree_control'), passedOn);
}

/** Removes the groups of that name, and all below them. Their processes must have ended. */
export function removeCgroups(name: string): void {
  for (const hierarchy of cgroupHierarchies()) {
    const folder = join(hierarchy, name);
    if (existsSync(folder)) removeTree(folder);
  }
}

/** Whether any process, ended ones that nobody has collected yet included, is in a group of that name. */
export function cgroupsAreEmpty(name: string): boolean {
  return cgroupHierarchies().every((hierarchy) => isEmpty(join(hierarchy, name)));
}

function isEmpty(folder: string): boolean {
  if (!existsSync(folder)) return true;
  return readFileSync(join(folder, 'cgroup.procs'), 'utf8') === '' && children(folder).every(isEmpty);
}

function removeTree(folder: string): void {
  children(folder).forEach(removeTree);
  rmdirSync(folder);
}

function children(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name));
}
