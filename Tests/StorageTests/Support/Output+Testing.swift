import Conversion
import Glibc
import Storage
import Testing
import TestSupport

/// The values of `mustBeHidden`: an unnamed file, and a file under a hidden name for file systems without unnamed
/// ones.
let bothModes = [false, true]

/// Prepares an output at `path`, which must not be skipped, and writes `bytes` to it.
func ready(
    _ path: String,
    _ policy: Recipe.ConflictPolicy = .fail,
    source: FileIdentity? = nil,
    mustBeHidden: Bool = false,
    holding bytes: [UInt8] = Array("new".utf8)
) throws -> OutputFile {
    switch try OutputFile.prepare(
        at: path,
        onConflict: policy,
        sources: source.map { [$0] } ?? [],
        mustBeHidden: mustBeHidden
    ) {
    case .skipped: throw SupportError("prepare \(path)", "it was skipped")
    case .ready(let output):
        guard write(output.descriptor, bytes, bytes.count) == bytes.count else {
            throw SupportError("write \(path)", errno: errno)
        }
        return output
    }
}

/// The error of preparing an output, or `nil` if preparing succeeds.
func refusal(
    _ path: String,
    _ policy: Recipe.ConflictPolicy = .fail,
    source: FileIdentity? = nil
) -> StorageError? {
    do {
        switch try OutputFile.prepare(at: path, onConflict: policy, sources: source.map { [$0] } ?? []) {
        case .ready: return nil
        case .skipped: return nil
        }
    } catch {
        return error
    }
}

/// Whether preparing an output skips it, because the destination exists.
func isSkipped(_ path: String) throws -> Bool {
    switch try OutputFile.prepare(at: path, onConflict: .skip) {
    case .skipped: true
    case .ready: false
    }
}

func text(_ path: String) throws -> String { String(decoding: try Bytes.read(path), as: UTF8.self) }

/// The error of publishing an output, or `nil` if publishing succeeds.
func publishError(_ output: consuming OutputFile) -> StorageError? {
    do {
        _ = try output.publish()
        return nil
    } catch {
        return error
    }
}
