import Glibc
import System

/// Opens paths below a folder. Neither `..`, nor a link, nor a process that swaps folders meanwhile can lead out of it.
struct Beneath: Sendable {
    /// How the path is resolved.
    enum Means: Sendable {
        /// The kernel enforces it (openat2, Linux 5.6) and follows links that stay below the folder.
        case kernel
        /// Component by component, refusing every link: for older kernels, and for sandboxes that do not know the call.
        case steps
    }

    let means: Means

    /// The means that works here, determined by opening `root`.
    static func available(in root: Int32) -> Beneath {
        let tried = Beneath(means: .kernel).open(".", in: root, O_DIRECTORY | SystemFlag.placeOnly)
        guard tried < 0 else {
            close(tried)
            return Beneath(means: .kernel)
        }
        // Whatever the reason (ENOSYS, or EPERM from an old sandbox), walking step by step is as strict.
        return Beneath(means: .steps)
    }

    /// A descriptor of `path` below `root`, or -1 with `errno` set: EXDEV if the path leads out.
    func open(_ path: String, in root: Int32, _ flags: Int32) -> Int32 {
        switch means {
        case .kernel: byKernel(path, root, flags | O_CLOEXEC)
        case .steps: bySteps(path, root, flags | O_CLOEXEC)
        }
    }

    private func byKernel(_ path: String, _ root: Int32, _ flags: Int32) -> Int32 {
        // EAGAIN: something below was renamed during the lookup. The limit stops a process that renames without end.
        for _ in 0..<128 {
            let opened = retryingInterrupts { SystemCall.openBeneath(root, path, flags) }
            if opened >= 0 || errno != EAGAIN { return opened }
        }
        return -1
    }

    private func bySteps(_ path: String, _ root: Int32, _ flags: Int32) -> Int32 {
        let names = path.pathNames
        var here = Descriptor(adopting: fcntl(root, F_DUPFD_CLOEXEC, 3))
        guard here.number >= 0 else { return -1 }
        for (index, name) in names.enumerated() {
            if name == ".." {
                errno = EXDEV
                return -1
            }
            let isLast = index == names.count - 1
            let kind = isLast ? flags : O_DIRECTORY | SystemFlag.placeOnly | O_CLOEXEC
            let opened = retryingInterrupts { openat(here.number, name, kind | O_NOFOLLOW, 0) }
            guard opened >= 0 else {
                let number = errno
                let isLink = FileFacts.of(name, in: here.number, followingLinks: false)?.kind == .link
                errno = isLink ? EXDEV : number
                return -1
            }
            here = Descriptor(adopting: opened)
            // With O_PATH the kernel opens a link instead of refusing it.
            if FileFacts.of(opened)?.kind == .link {
                errno = EXDEV
                return -1
            }
        }
        return here.release()
    }
}
