// Publishes one output in a process of its own, for tests that kill it or let the kernel refuse at every system call.
import Conversion
import Glibc
import Storage

let words = CommandLine.arguments
guard words.count == 6, let policy = Recipe.ConflictPolicy(rawValue: words[2]), let byteCount = Int(words[4]),
    let byte = UInt8(words[5])
else {
    print("usage: storage-process DESTINATION fail|replace|skip unnamed|hidden BYTES BYTE")
    exit(64)
}

/// Fills the output with `byteCount` times `byte`; returns whether all of it was taken.
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

do {
    switch try OutputFile.prepare(at: words[1], onConflict: policy, mustBeHidden: words[3] == "hidden") {
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
