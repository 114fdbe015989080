/// An access list (ACL) as the kernel stores it in `system.posix_acl_access` and `system.posix_acl_default`.
public enum AccessList {
    /// One with an entry for a user of its own, whose permissions are `user`; the mask grants all that the entries do.
    public static func bytes(owner: UInt16, user: UInt16, of id: UInt32 = 12_345, group: UInt16) -> [UInt8] {
        let entries: [(tag: UInt16, permissions: UInt16, id: UInt32)] = [
            (0x01, owner, .max), (0x02, user, id), (0x04, group, .max), (0x10, user | group, .max), (0x20, 0, .max),
        ]
        var list = bytes(UInt32(2))
        for entry in entries {
            list += bytes(entry.tag)
            list += bytes(entry.permissions)
            list += bytes(entry.id)
        }
        return list
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian, Array.init)
    }
}
