/**
 * Offsets in the kernel's `struct seccomp_data`; of the 64-bit argument the low half, which holds
 * all flags we check.
 */
const NUMBER = 0;
const MACHINE = 4;
const FIRST_ARGUMENT = 16;

/**
 * Classic BPF: load a word, jump if equal, jump if greater or equal, jump if any bit is set,
 * return.
 */
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;

/** `then` and `otherwise` are the number of instructions to skip. */
type Instruction = readonly [code: number, value: number, then?: number, otherwise?: number];

const allow: readonly Instruction[] = [[RETURN, 0x7fff_0000]];
const fail = (errno: number): readonly Instruction[] => [[RETURN, 0x0005_0000 | errno]];

const EPERM = fail(1);
const ENOSYS = fail(38);
const EAFNOSUPPORT = fail(97);

/** Allows the call if its first argument is one of `values`. */
function allowIfIn(values: readonly number[], otherwise: readonly Instruction[]): readonly Instruction[] {
  const tests = values.map((value, index): Instruction => [IF_EQUAL, value, values.length - index]);
  return [[LOAD, FIRST_ARGUMENT], ...tests, ...otherwise, ...allow];
}

/**
 * CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. No exit signal of
 * `clone` has the first bit.
 */
const NAMESPACES = 0x7e02_0080;
const noNamespaces: readonly Instruction[] = [
  [LOAD, FIRST_ARGUMENT],
  [IF_ANY_BIT, NAMESPACES, 1],
  ...allow,
  ...EPERM,
];

/**
 * AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Of the others, AF_VSOCK reaches the hypervisor past every
 * namespace, and AF_ALG and many more are seldom used kernel code.
 */
const families = allowIfIn([1, 2, 10, 16], EAFNOSUPPORT);

/**
 * PER_LINUX and PER_LINUX32, each with and without UNAME26, and the query. The omitted flags weaken
 * memory protection.
 */
const personalities = allowIfIn([0, 8, 0x2_0000, 0x2_0008, 0xffff_ffff], EPERM);

/** Calls that are allowed depending on their arguments. */
const CHECKED: Readonly<Record<string, readonly Instruction[]>> = {
  'clone=56/220': noNamespaces,
  'unshare=272/97': noNamespaces,
  // Its flags are behind a pointer, which a filter cannot read. ENOSYS: the C libraries fall back
  // to clone.
  'clone3=435/435': ENOSYS,
  'personality=135/92': personalities,
  'socket=41/198': families,
  'socketpair=53/199': families,
};

/** Additional calls that a browser's own sandbox needs. */
const FOR_BROWSERS: typeof CHECKED = {
  'clone=56/220': allow,
  'unshare=272/97': allow,
  'chroot=161/51': allow,
};

/**
 * The calls that are allowed with any arguments, by name with the numbers on x64 and arm64; one
 * number: x64 only. It follows the default profile of container engines. Left out on purpose: keys
 * (keyctl, add_key, request_key: keyrings pass through namespaces), io_uring (bypasses this
 * filter), bpf, perf_event_open, userfaultfd, mounts, setns, open_by_handle_at, modules, kexec,
 * quotas and clocks.
 */
const ALLOWED = `
accept=43/202 accept4=288/242 access=21 adjtimex=159/171 alarm=37 arch_prctl=158 bind=49/200
brk=12/214 cachestat=451/451 capget=125/90 capset=126/91 chdir=80/49 chmod=90 chown=92
clock_adjtime=305/266 clock_getres=229/114 clock_gettime=228/113 clock_nanosleep=230/115
close=3/57 close_range=436/436 connect=42/203 copy_file_range=326/285 creat=85 dup=32/23 dup2=33
dup3=292/24 epoll_create=213 epoll_create1=291/20 epoll_ctl=233/21 epoll_pwait=281/22
epoll_pwait2=441/441 epoll_wait=232 eventfd=284 eventfd2=290/19 execve=59/221 execveat=322/281
exit=60/93 exit_group=231/94 faccessat=269/48 faccessat2=439/439 fadvise64=221/223
fallocate=285/47 fchdir=81/50 fchmod=91/52 fchmodat=268/53 fchmodat2=452/452 fchown=93/55
fchownat=260/54 fcntl=72/25 fdatasync=75/83 fgetxattr=193/10 flistxattr=196/13 flock=73/32 fork=57
fremovexattr=199/16 fsetxattr=190/7 fstat=5/80 fstatfs=138/44 fsync=74/82 ftruncate=77/46
futex=202/98 futex_requeue=456/456 futex_wait=455/455 futex_waitv=449/449 futex_wake=454/454
futimesat=261 get_robust_list=274/100 getcpu=309/168 getcwd=79/17 getdents=78 getdents64=217/61
getegid=108/177 geteuid=107/175 getgid=104/176 getgroups=115/158 getitimer=36/102
getpeername=52/205 getpgid=121/155 getpgrp=111 getpid=39/172 getppid=110/173 getpriority=140/141
getrandom=318/278 getresgid=120/150 getresuid=118/148 getrlimit=97/163 getrusage=98/165
getsid=124/156 getsockname=51/204 getsockopt=55/209 gettid=186/178 gettimeofday=96/169
getuid=102/174 getxattr=191/8 getxattrat=464/464 inotify_add_watch=254/27 inotify_init=253
inotify_init1=294/26 inotify_rm_watch=255/28 io_cancel=210/3 io_destroy=207/1 io_getevents=208/4
io_pgetevents=333/292 io_setup=206/0 io_submit=209/2 ioctl=16/29 ioprio_get=252/31
ioprio_set=251/30 kill=62/129 landlock_add_rule=445/445 landlock_create_ruleset=444/444
landlock_restrict_self=446/446 lchown=94 lgetxattr=192/9 link=86 linkat=265/37 listen=50/201
listxattr=194/11 listxattrat=465/465 llistxattr=195/12 lremovexattr=198/15 lseek=8/62
lsetxattr=189/6 lstat=6 madvise=28/233 map_shadow_stack=453/453 membarrier=324/283
memfd_create=319/279 mincore=27/232 mkdir=83 mkdirat=258/34 mknod=133 mknodat=259/33 mlock=149/228
mlock2=325/284 mlockall=151/230 mmap=9/222 mprotect=10/226 mq_getsetattr=245/185 mq_notify=244/184
mq_open=240/180 mq_timedreceive=243/183 mq_timedsend=242/182 mq_unlink=241/181 mremap=25/216
mseal=462/462 msgctl=71/187 msgget=68/186 msgrcv=70/188 msgsnd=69/189 msync=26/227 munlock=150/229
munlockall=152/231 munmap=11/215 name_to_handle_at=303/264 nanosleep=35/101 newfstatat=262/79
open=2 openat=257/56 openat2=437/437 pause=34 pidfd_open=434/434 pidfd_send_signal=424/424 pipe=22
pipe2=293/59 pkey_alloc=330/289 pkey_free=331/290 pkey_mprotect=329/288 poll=7 ppoll=271/73
prctl=157/167 pread64=17/67 preadv=295/69 preadv2=327/286 prlimit64=302/261
process_mrelease=448/448 process_vm_readv=310/270 process_vm_writev=311/271 pselect6=270/72
ptrace=101/117 pwrite64=18/68 pwritev=296/70 pwritev2=328/287 read=0/63 readahead=187/213
readlink=89 readlinkat=267/78 readv=19/65 recvfrom=45/207 recvmmsg=299/243 recvmsg=47/212
remap_file_pages=216/234 removexattr=197/14 removexattrat=466/466 rename=82 renameat=264/38
renameat2=316/276 restart_syscall=219/128 rmdir=84 rseq=334/293 rt_sigaction=13/134
rt_sigpending=127/136 rt_sigprocmask=14/135 rt_sigqueueinfo=129/138 rt_sigreturn=15/139
rt_sigsuspend=130/133 rt_sigtimedwait=128/137 rt_tgsigqueueinfo=297/240
sched_get_priority_max=146/125 sched_get_priority_min=147/126 sched_getaffinity=204/123
sched_getattr=315/275 sched_getparam=143/121 sched_getscheduler=145/120
sched_rr_get_interval=148/127 sched_setaffinity=203/122 sched_setattr=314/274
sched_setparam=142/118 sched_setscheduler=144/119 sched_yield=24/124 seccomp=317/277 select=23
semctl=66/191 semget=64/190 semop=65/193 semtimedop=220/192 sendfile=40/71 sendmmsg=307/269
sendmsg=46/211 sendto=44/206 set_robust_list=273/99 set_tid_address=218/96 setfsgid=123/152
setfsuid=122/151 setgid=106/144 setgroups=116/159 setitimer=38/103 setpgid=109/154
setpriority=141/140 setregid=114/143 setresgid=119/149 setresuid=117/147 setreuid=113/145
setrlimit=160/164 setsid=112/157 setsockopt=54/208 setuid=105/146 setxattr=188/5
setxattrat=463/463 shmat=30/196 shmctl=31/195 shmdt=67/197 shmget=29/194 shutdown=48/210
sigaltstack=131/132 signalfd=282 signalfd4=289/74 splice=275/76 stat=4 statfs=137/43 statx=332/291
symlink=88 symlinkat=266/36 sync=162/81 sync_file_range=277/84 syncfs=306/267 sysinfo=99/179
tee=276/77 tgkill=234/131 time=201 timer_create=222/107 timer_delete=226/111
timer_getoverrun=225/109 timer_gettime=224/108 timer_settime=223/110 timerfd_create=283/85
timerfd_gettime=287/87 timerfd_settime=286/86 times=100/153 tkill=200/130 truncate=76/45
umask=95/166 uname=63/160 unlink=87 unlinkat=263/35 utime=132 utimensat=280/88 utimes=235 vfork=58
vmsplice=278/75 wait4=61/260 waitid=247/95 write=1/64 writev=20/66
`;

/**
 * The newest call that was reviewed for the list. Newer ones get ENOSYS, so that programs fall
 * back.
 */
const NEWEST = 466;

/**
 * x86-64's x32 calls have the same machine and this bit. They fail like every number beyond the
 * newest.
 */
const MACHINES: Readonly<Partial<Record<NodeJS.Architecture, { audit: number; column: 0 | 1 }>>> = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
};

/** The decision for the calls from a number up to the next rule's. */
interface Rule {
  readonly from: number;
  readonly action: readonly Instruction[];
}

function rulesFor(column: 0 | 1, checked: typeof CHECKED): Rule[] {
  const numberOf = (entry: string): number => Number(/=(.*)/.exec(entry)?.[1]?.split('/')[column]);
  const known = new Map<number, readonly Instruction[]>();
  for (const entry of ALLOWED.trim().split(/\s+/)) known.set(numberOf(entry), allow);
  for (const [entry, action] of Object.entries(checked)) known.set(numberOf(entry), action);
  const rules: Rule[] = [];
  for (let from = 0; from <= NEWEST + 1; from += 1) {
    const action = from > NEWEST ? ENOSYS : (known.get(from) ?? EPERM);
    if (rules.at(-1)?.action !== action) rules.push({ from, action });
  }
  return rules;
}

/** A binary search: a BPF jump reaches at most 255 instructions, and each call runs few of them. */
function search(rules: readonly Rule[]): readonly Instruction[] {
  const middle = rules.length >> 1;
  const upper = rules[middle] as Rule;
  if (middle === 0) return upper.action;
  const below = search(rules.slice(0, middle));
  return [[IF_AT_LEAST, upper.from, below.length], ...below, ...search(rules.slice(middle))];
}

/**
 * The seccomp filter of a sandbox, in the format of `bwrap --seccomp` and prctl(2): an allow list,
 * like a container engine's. Calls that are not on it fail with EPERM; unknown calls and the
 * machine's 32-bit calls with ENOSYS. Undefined for unsupported machines.
 * @param userNamespaces whether processes inside may create namespaces, as browsers do for their
 * own sandbox
 */
export function systemCallFilter(
  arch: NodeJS.Architecture,
  userNamespaces = false,
): Uint8Array<ArrayBuffer> | undefined {
  const machine = MACHINES[arch];
  if (machine === undefined) return undefined;
  const checked = userNamespaces ? { ...CHECKED, ...FOR_BROWSERS } : CHECKED;
  const program: readonly Instruction[] = [
    [LOAD, MACHINE],
    [IF_EQUAL, machine.audit, 1],
    ...ENOSYS,
    [LOAD, NUMBER],
    ...search(rulesFor(machine.column, checked)),
  ];
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, value, then = 0, otherwise = 0]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, then);
    bytes.setUint8(index * 8 + 3, otherwise);
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
