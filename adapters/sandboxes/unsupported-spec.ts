import { PortholeError } from '#core/errors.ts';
import type { SandboxSize } from '#core/ports/sandbox-provider.ts';

/** @param why what is missing here, and what would help */
export function networkNotSupported(why: string): PortholeError {
  return new PortholeError(
    'network_not_supported',
    `network: true cannot be had here: ${why}. Without a network the sandbox can be made.`,
  );
}

/** @throws PortholeError `resources_not_supported` where more is asked for than a sandbox may have here */
export function checkAtMost(asked: Partial<SandboxSize> | undefined, most: SandboxSize): void {
  const { cpu = 0, memoryMb = 0, diskMb = 0 } = asked ?? {};
  const tooMuch = [
    ...(cpu > most.cpu ? [`resources.cpu ${cpu} is more than the ${most.cpu}`] : []),
    ...(memoryMb > most.memoryMb
      ? [`resources.memory_mb ${memoryMb} is more than the ${most.memoryMb}`]
      : []),
    ...(diskMb > most.diskMb ? [`resources.disk_mb ${diskMb} is more than the ${most.diskMb}`] : []),
  ];
  if (tooMuch.length === 0) return;
  throw new PortholeError(
    'resources_not_supported',
    `${tooMuch.join(', ')} that a sandbox can have here: ask for less.`,
  );
}
