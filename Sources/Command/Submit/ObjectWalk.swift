import Conversion
import Ledger
import ObjectStorage
import Storage

/// Lists the objects below a folder of a bucket, page by page, in the order of the store.
///
/// It takes those that a walk through the same folders on a disk would take: it skips names that begin with a dot, and keys
/// that end with a slash, which stand for folders.
struct ObjectWalk {
    let filter: NameFilter
    /// Objects left out because their extension is not one of an audio format.
    private(set) var otherKinds = 0
    /// All objects, those that were left out among them.
    private(set) var objectCount = 0
    private let progress: SubmitProgress?
    /// The folder of the last object, and whether its files count: most objects lie in the folder of the one before.
    private var last = (folder: "", isEntered: true)

    /// What the walk finds.
    enum Found {
        /// `relative` is its path below the folder that the walk began in.
        case object(relative: String, SourceStamp?)
        /// An object that the filter takes and that no location can name.
        case misfit(relative: String, why: String)
    }

    init(filter: NameFilter, progress: SubmitProgress? = nil) { (self.filter, self.progress) = (filter, progress) }

    /// Calls `visit` with each object. Throws a `StoreError` if a page cannot be had, an `AddressError` for a folder that no
    /// object can lie in.
    mutating func run(_ bucket: SourceBucket, _ folder: String, _ visit: (Found) throws -> Void) throws {
        let prefix = try bucket.prefix(of: folder)
        last = ("", true)
        guard try bucket.hasObjects(in: folder) else { return }
        var list = try bucket.list(folder)
        while let page = try list.next() {
            for entry in page {
                objectCount += 1
                guard entry.key.utf8.starts(with: prefix.utf8) else {
                    try visit(.misfit(relative: entry.key, why: "the store lists it, and it lies in another folder"))
                    continue
                }
                let relative = String(Substring(entry.key.utf8.dropFirst(prefix.utf8.count)))
                try take(entry, relative, visit)
            }
        }
    }

    private mutating func take(_ entry: ObjectEntry, _ relative: String, _ visit: (Found) throws -> Void) throws {
        let slash = relative.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(Substring(relative.utf8[..<$0])) } ?? ""
        guard isEntered(folder) else { return }
        let name = slash.map { String(Substring(relative.utf8[$0...].dropFirst())) } ?? relative
        if name.isEmpty {
            // Programs that show buckets as folders make such objects, and they are empty.
            guard entry.byteCount > 0 else { return }
            return try visit(.misfit(relative: relative, why: "its key ends with a slash, as those of folders do"))
        }
        guard !Self.isHidden(name) else { return }
        switch filter.answer(name: name, path: relative) {
        case .left: return
        case .otherKind: otherKinds += 1
        case .taken:
            if let why = BucketAddress.problem(ofPath: relative) {
                return try visit(.misfit(relative: relative, why: "its key \(why)"))
            }
            progress?.addFile()
            try visit(.object(relative: relative, SourceStamp(bytes: entry.byteCount, entry.modified)))
        }
    }

    private mutating func isEntered(_ folder: String) -> Bool {
        if folder.utf8.elementsEqual(last.folder.utf8) { return last.isEntered }
        var isEntered = true
        var end = folder.startIndex
        while isEntered, end < folder.endIndex {
            let start = end
            end = folder.utf8[start...].firstIndex(of: UInt8(ascii: "/")) ?? folder.endIndex
            let name = String(Substring(folder.utf8[start..<end]))
            let path = String(Substring(folder.utf8[..<end]))
            isEntered = name.isEmpty || !Self.isHidden(name) && filter.enters(name: name, path: path)
            if end < folder.endIndex { end = folder.utf8.index(after: end) }
        }
        last = (folder, isEntered)
        return isEntered
    }

    /// `.` and `..` are no hidden names but mistakes, which the user is told about.
    private static func isHidden(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: ".") && name != "." && name != ".."
    }
}
