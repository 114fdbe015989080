import System

/// The type of a file system.
struct FileSystemKind {
    /// The number from <linux/magic.h>; 0 if the kernel does not report it.
    let magic: UInt64

    static func of(_ descriptor: Int32) -> FileSystemKind {
        // An unknown type is a valid result: a file system not known to be local is treated with more care.
        FileSystemKind(magic: SystemCall.fileSystemMagic(of: descriptor))
    }

    /// Whether only this machine can access it. False for unknown types, network file systems and FUSE.
    var isLocal: Bool { Self.local.contains(magic) }

    /// Whether every hole is a range that was never written. Others may turn zeros into holes: ZFS does if it
    /// compresses.
    var tellsHoles: Bool { Self.tellingHoles.contains(magic) }

    /// Whether it may take names for one that differ only in case or in how Unicode composes their letters.
    var foldsNames: Bool { Self.foldingNames.contains(magic) }

    private static let foldingNames: Set<UInt64> = [
        0x4D44,  // FAT
        0x2011_BAB0,  // exFAT
        0xFF53_4D42,  // CIFS
        0xFE53_4D42,  // SMB 2 and later
        0x482B,  // HFS+
    ]

    private static let tellingHoles: Set<UInt64> = [
        0xEF53,  // ext2, ext3, ext4
        0x5846_5342,  // XFS
        0x9123_683E,  // Btrfs
        0x0102_1994,  // tmpfs
    ]

    private static let local: Set<UInt64> = [
        0xEF53,  // ext2, ext3, ext4
        0x5846_5342,  // XFS
        0x9123_683E,  // Btrfs
        0x0102_1994,  // tmpfs
        0xF2F5_2010,  // F2FS
        0x794C_7630,  // overlayfs, whose upper layer belongs to one mount
        0xCA45_1A4E,  // bcachefs
        0x2FC1_2FC1,  // ZFS
        0x4D44,  // FAT
        0x2011_BAB0,  // exFAT
        0x7366_746E,  // NTFS
        0x3153_464A,  // JFS
    ]
}
