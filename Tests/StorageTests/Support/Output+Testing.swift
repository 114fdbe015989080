import Conversion
import Glibc
import Storage
import Testing
import TestSupport

/// The two ways to write: without a name, and under a hidden one where that is missing.
let bothModes = [false, true]

/// An output at `path` that must be ready, with `bytes` in it.
func ready(
    _ path: String,
    _ policy: Recipe.ConflictPolicy = .fail,
    source: FileIdentity? = nil,
    mustBeHidden: Bool = false,
    holding bytes: [UInt8] = Array("new".utf8)
) throws -> OutputFile {
    switch try OutputFile.prepare(at: path, onConflict: policy, source: source, mustBeHidden: mustBeHidden) {
    case .skipped: throw SupportError("prepare \(path)", "it was skipped")
    case .ready(let output):
        guard write(output.descriptor, bytes, bytes.count) == bytes.count else {
            throw SupportError("write \(path)", errno: errno)
        }
        return output
    }
}

/// The error of preparing an output, or `nil` if there is none.
func refusal(
    _ path: String,
    _ policy: Recipe.ConflictPolicy = .fail,
    source: FileIdentity? = nil
) -> StorageError? {
    do {
        switch try OutputFile.prepare(at: path, onConflict: policy, source: source) {
        case .ready: return nil
        case .skipped: return nil
        }
    } catch {
        return error
    }
}

/// Whether preparing answers that there is nothing to do.
func isSkipped(_ path: String) throws -> Bool {
    switch try OutputFile.prepare(at: path, onConflict: .skip) {
    case .skipped: true
    case .ready: false
    }
}

/// The text of a file.
func text(_ path: String) throws -> String { String(decoding: try Bytes.read(path), as: UTF8.self) }

/// The error of publishing an output, or `nil` if there is none.
func publishError(_ output: consuming OutputFile) -> StorageError? {
    do {
        _ = try output.publish()
        return nil
    } catch {
        return error
    }
}
