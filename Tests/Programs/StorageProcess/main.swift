// Publishes one output in a separate process, for tests that kill it or inject errors at every system call.
import Conversion
import Glibc
import Storage

let words = CommandLine.arguments
guard words.count == 6, let policy = Recipe.ConflictPolicy(rawValue: words[2]), let byteCount = Int(words[4]),
    let byte = UInt8(words[5])
else {
    print(
        "usage: storage-process DESTINATION fail|replace|skip unnamed|hidden|attempt-...|together-...|set-...|job-... BYTES BYTE"
    )
    exit(64)
}

/// Writes `byteCount` copies of `byte` to the output. Returns false if a write failed.
func fill(_ descriptor: Int32) -> Bool {
    let block = [UInt8](repeating: byte, count: 1 << 16)
    var written = 0
    while written < byteCount {
        let count = write(descriptor, block, min(block.count, byteCount - written))
        guard count > 0 else { return false }
        written += count
    }
    return true
}

let mustBeHidden = words[3].hasSuffix("hidden")

/// Publishes as a worker does, below a root and through the attempt's file. The attempt is job 1, epoch 2, lease 3.
func publishAttempt(_ folder: String, _ name: String) throws(StorageError) -> String {
    let root = try StorageRoot.open(name: "root", path: folder)
    let location = try Location("root:\(name)")
    if words[3].hasPrefix("job-") { return try publishJob(root, location) }
    switch try root.prepareOutput(at: location, onConflict: policy, mustBeHidden: mustBeHidden) {
    case .skipped: return "skipped"
    case .ready(let output): return try publish(output, root, location)
    }
}

/// The same with the look at who made an existing file.
func publishJob(_ root: StorageRoot, _ location: Location) throws(StorageError) -> String {
    switch try root.prepareOutput(
        at: location,
        for: AttemptName(job: 1, epoch: 2, lease: 3),
        madeOf: 4,
        onConflict: policy,
        sources: [],
        permissions: [],
        mustBeHidden: mustBeHidden
    ) {
    case .made: return "made"
    case .skipped: return "skipped"
    case .ready(let output): return try publish(output, root, location)
    }
}

func publish(
    _ output: consuming OutputFile,
    _ root: StorageRoot,
    _ location: Location
) throws(StorageError) -> String {
    guard fill(output.descriptor) else { return "write refused" }
    let fingerprint = try output.fingerprint()
    let attempt = AttemptName(job: 1, epoch: 2, lease: 3)
    var group = OutputGroup()
    group.add(output, as: attempt, with: fingerprint, madeOf: words[3].hasPrefix("job-") ? 4 : nil)
    let together = words[3].hasPrefix("together-") ? true : nil
    for result in group.link(durably: true, together: together) { try result.get() }
    let order = PublishOrder(of: attempt, to: location, with: fingerprint, onConflict: policy)
    return try StorageRoots([root]).publish([order])[0].get().rawValue
}

/// Publishes two outputs together: to the destination, and to the same name with a 2.
func publishSet() throws(StorageError) -> String {
    var set = OutputSet()
    for path in [words[1], words[1] + "2"] {
        switch try OutputFile.prepare(at: path, onConflict: policy, mustBeHidden: mustBeHidden) {
        case .skipped: return "skipped"
        case .ready(let output):
            guard fill(output.descriptor) else { return "write refused" }
            set.add(output)
        }
    }
    return try set.publish().map(\.rawValue).joined(separator: " ")
}

do {
    if words[3].hasPrefix("set-") {
        let said = try publishSet()
        print(said)
        exit(said == "write refused" ? 2 : 0)
    }
    if words[3].contains("-"), let slash = words[1].lastIndex(of: "/") {
        print(try publishAttempt(String(words[1][..<slash]), String(words[1][words[1].index(after: slash)...])))
        exit(0)
    }
    switch try OutputFile.prepare(at: words[1], onConflict: policy, mustBeHidden: mustBeHidden) {
    case .skipped: print("skipped")
    case .ready(let output):
        guard fill(output.descriptor) else {
            print("write refused")
            exit(2)
        }
        print(try output.publish().rawValue)
    }
} catch {
    print("\(error.code.rawValue) at \(error.stage.rawValue)")
    exit(1)
}
