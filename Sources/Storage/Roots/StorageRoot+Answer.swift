import Glibc

extension StorageRoot {
    /// Asks the file system of the root how full it is, which no cache of the kernel answers. Returns when it has
    /// answered, whatever the answer is: for as long as the server of a network file system is silent, this blocks.
    public func awaitAnswer() {
        var facts = statvfs()
        _ = fstatvfs(descriptor, &facts)
    }
}
