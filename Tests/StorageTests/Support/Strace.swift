import Foundation
import TestSupport

/// strace, which kills a process at a chosen system call or makes the call fail.
enum Strace {
    /// One system call of a process: its name, its number among the calls of that name (from 1), and its text.
    struct Call: CustomStringConvertible {
        let name: String
        let number: Int
        let text: String

        var description: String { "\(name) #\(number): \(text)" }
    }

    /// The command prefix that runs a program under strace with `injections` such as `linkat:error=EIO:when=1`.
    static func words(_ injections: [String], log: String = "/dev/null") -> [String] {
        ["strace", "-f", "-qq", "-o", log] + injections.flatMap { ["-e", "inject=\($0)"] }
    }

    /// The system calls of `process`, from the first one that mentions the destination's folder.
    static func calls(of process: StorageProcess) throws -> [Call] {
        let place = process.destination.split(separator: "/").dropLast().joined(separator: "/")
        let folder = try TemporaryFolder.create()
        let log = folder.path("log")
        try process.run(behind: words([], log: log)).checked()
        let text = String(decoding: try Bytes.read(log), as: UTF8.self)
        var counts: [String: Int] = [:]
        var calls: [Call] = []
        for line in text.split(separator: "\n") {
            // 4711 openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
            let said = line.drop { $0.isNumber || $0 == " " }
            guard let end = said.firstIndex(of: "(") else { continue }
            let name = String(said[..<end])
            counts[name, default: 0] += 1
            if calls.isEmpty, !line.contains(place) || name == "execve" { continue }
            calls.append(Call(name: name, number: counts[name] ?? 0, text: String(said.prefix(100))))
        }
        return calls
    }
}
