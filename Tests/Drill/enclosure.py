"""The namespaces in which a drill runs. Whatever ends the drill, the kernel removes everything in them.

The drill has a separate process, mount, network and IPC namespace. All its files are on a temporary file system that
only its mount namespace has. When the first process of the process namespace ends, even by SIGKILL, the kernel kills
the others; with the last of them go the mounts, the files, the machines and their links.
"""

import ctypes
import os
import pathlib
import shutil
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)

NEW_MOUNTS, NEW_IPC, NEW_PROCESSES, NEW_NETWORK = 0x0002_0000, 0x0800_0000, 0x2000_0000, 0x4000_0000
RECURSIVE, PRIVATE, BIND = 0x4000, 1 << 18, 0x1000
DEATH_SIGNAL = 1
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = ["etcd", "faketime", "haproxy", "ip", "nsenter", "openssl", "patroni", "psql", "setpriv"]
# Folders that every Debian system has and a drill does not need. The drill's files are mounted over one of them.
PLACES = ["/srv", "/media", "/mnt", "/opt"]


def call(name, *arguments):
    """Calls a function of the C library that answers -1 on failure."""
    if getattr(libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(source, target, kind, flags=0, options=""):
    call("mount", source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())


def new_network():
    """Creates a network namespace and returns a descriptor of it. It exists as long as anything uses it."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        call("unshare", NEW_NETWORK)
        made = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        call("setns", home, NEW_NETWORK)
    finally:
        os.close(home)
    return made


def why_impossible():
    """Why this machine cannot run a drill; `None` if it can."""
    if os.geteuid() != 0:
        return "it needs root, to make network namespaces, bridges and mounts"
    if missing := [name for name in PROGRAMS if not shutil.which(name, path=PATH)]:
        return f"{', '.join(missing)} is missing; run scripts/prepare drill"
    child = os.fork()
    if child == 0:
        try:
            call("unshare", NEW_MOUNTS | NEW_IPC | NEW_PROCESSES | NEW_NETWORK)
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        return "this kernel or container allows no new mount, process and network namespaces"
    return None


def run(body, used):
    """Runs `body(folder)` in new namespaces, with an empty folder that vanishes with them, and returns its status.

    The files at the paths `used` stay visible.
    """
    folder = next(place for place in PLACES if os.path.isdir(place) and not any(lies_in(path, place) for path in used))
    hold, held = os.pipe()
    call("unshare", NEW_MOUNTS | NEW_IPC | NEW_PROCESSES | NEW_NETWORK)
    sys.stdout.flush()
    first = os.fork()
    if first == 0:
        os.close(held)
        be_first(hold, folder, body)
    os.close(hold)
    # Ctrl-C reaches the whole group, and a signal from elsewhere this process alone.
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
        signal.signal(number, lambda number, frame: os.kill(first, number))
    status = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    os.close(held)
    return status if status >= 0 else 128 - status


def lies_in(path, place):
    return pathlib.PurePath(place) in [path, *pathlib.PurePath(path).parents]


def be_first(hold, folder, body):
    """The first process of the namespace: starts the drill, and reaps every process whose parent has ended."""
    call("prctl", DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL))
    # The parent may have died before this process asked to die with it.
    os.set_blocking(hold, False)
    try:
        if os.read(hold, 1) == b"":
            os._exit(1)
    except BlockingIOError:
        pass
    mount("none", "/", "none", RECURSIVE | PRIVATE)
    mount("proc", "/proc", "proc")
    for place, mode in [(folder, "755"), ("/dev/shm", "1777")]:
        mount("drill", place, "tmpfs", 0, f"mode={mode}")
    drill = os.fork()
    if drill == 0:
        status = 1
        try:
            status = body(pathlib.Path(folder))
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
        signal.signal(number, lambda number, frame: os.kill(drill, number))
    while True:
        ended, status = os.wait()
        if ended == drill:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
