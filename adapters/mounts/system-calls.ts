/** What a keeper asks of the kernel, by number: perl knows no names. Those that it numbers itself are the same on every architecture (since Linux 5.0). */
export interface SystemCalls {
  readonly setns: string;
  readonly capset: string;
  readonly prctl: string;
  readonly umount2: string;
  readonly unshare: string;
  readonly mount: string;
  readonly sendmsg: string;
}

const NUMBERS: Readonly<Record<string, SystemCalls>> = {
  x64: {
    setns: '308',
    capset: '126',
    prctl: '157',
    umount2: '166',
    unshare: '272',
    mount: '165',
    sendmsg: '46',
  },
  arm64: {
    setns: '268',
    capset: '91',
    prctl: '167',
    umount2: '39',
    unshare: '97',
    mount: '40',
    sendmsg: '211',
  },
};

/** Undefined on an architecture that we have not looked up. */
export function systemCalls(architecture: string): SystemCalls | undefined {
  return NUMBERS[architecture];
}
