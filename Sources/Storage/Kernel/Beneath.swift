import Glibc

/// Opens what lies below a folder and cannot be led out of it, by `..`, a link, or a process that swaps folders meanwhile.
struct Beneath: Sendable {
    /// How it is done.
    enum Means: Sendable {
        /// The kernel sees to it (openat2, Linux 5.6); links are followed as long as they stay below.
        case kernel
        /// Name by name, refusing every link: older kernels, and sandboxes that do not know the call.
        case steps
    }

    let means: Means

    /// What works here, found out on the folder `root`.
    static func available(in root: Int32) -> Beneath {
        let tried = Beneath(means: .kernel).open(".", in: root, O_DIRECTORY | KernelFlag.placeOnly)
        guard tried < 0 else {
            close(tried)
            return Beneath(means: .kernel)
        }
        // Whatever the reason (ENOSYS, or EPERM by an old sandbox), the steps are as strict.
        return Beneath(means: .steps)
    }

    /// A descriptor of `path` below `root`, or -1 with `errno` set: EXDEV where the path leads out.
    func open(_ path: String, in root: Int32, _ flags: Int32) -> Int32 {
        switch means {
        case .kernel: byKernel(path, root, flags | O_CLOEXEC)
        case .steps: bySteps(path, root, flags | O_CLOEXEC)
        }
    }

    private func byKernel(_ path: String, _ root: Int32, _ flags: Int32) -> Int32 {
        // A `struct open_how`: flags, mode, and RESOLVE_BENEATH with RESOLVE_NO_MAGICLINKS.
        var how: (UInt64, UInt64, UInt64) = (UInt64(UInt32(bitPattern: flags)), 0, 0x08 | 0x02)
        // EAGAIN: something below was renamed while the kernel looked. A process that renames without end gains nothing.
        for _ in 0..<128 {
            let opened = retryingInterrupts {
                withUnsafeMutableBytes(of: &how) { how in
                    GNUFunctions.openat2(Self.openat2Number, Int(root), path, how.baseAddress, how.count)
                }
            }
            if opened >= 0 || errno != EAGAIN { return Int32(truncatingIfNeeded: opened) }
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
            let kind = isLast ? flags : O_DIRECTORY | KernelFlag.placeOnly | O_CLOEXEC
            let opened = retryingInterrupts { openat(here.number, name, kind | O_NOFOLLOW, 0) }
            guard opened >= 0 else {
                let number = errno
                let isLink = FileFacts.of(name, in: here.number, followingLinks: false)?.kind == .link
                errno = isLink ? EXDEV : number
                return -1
            }
            here = Descriptor(adopting: opened)
            // With O_PATH a link is opened, not refused.
            if FileFacts.of(opened)?.kind == .link {
                errno = EXDEV
                return -1
            }
        }
        return here.release()
    }

    /// The same on every architecture.
    private static let openat2Number = 437
}
