// A coverage-guided fuzzer for everything that a room does with a source: probe, scan and convert, through our own
// I/O. It also fuzzes the readers of texts in commands, workers and rooms. Only `make fuzz` builds it, with all of
// our code instrumented.
import FuzzSignals
import FuzzedTexts
import Glibc
import PumpRoom
import RoomProgram
import TestSupport

@main
enum FuzzRooms {
    static let usage = """
        usage: fuzz-rooms FOLDER [OPTION-OF-LIBFUZZER]...   look for files that break a room; FOLDER keeps what was learned
               fuzz-rooms --seeds FOLDER                    write the files to begin with
               fuzz-rooms --replay FILE...                  do with FILE what the fuzzer did, and say what came of it
               fuzz-rooms --texts FOLDER [OPTION-OF-LIBFUZZER]...   the same for texts that break a reader
               fuzz-rooms --text-seeds FOLDER DICTIONARY
               fuzz-rooms --replay-text FILE...
        """

    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        dieOfWhatKills()
        switch words.first {
        case "--seeds" where words.count == 2: try SeedFiles.write(into: words[1])
        case "--replay" where words.count > 1: try replay(words.dropFirst())
        case "--text-seeds" where words.count == 3: try TextSeeds.write(into: words[1], dictionary: words[2])
        case "--replay-text" where words.count > 1: try replayTexts(words.dropFirst())
        case "--texts" where words.count > 1:
            drive(in: words[1], words.dropFirst(2)) { bytes, count in
                FuzzedText.read(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
                return 0
            }
        case let folder? where !folder.hasPrefix("-"): fuzz(in: folder, words.dropFirst())
        default:
            print(usage)
            exit(64)
        }
    }

    /// Restores the default signal actions, as a room does. On a crash Swift's runtime would start a program that
    /// prints a backtrace, and libFuzzer does not install a handler for a signal that already has one.
    private static func dieOfWhatKills() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(number, SIG_DFL) }
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
    }

    private static func fuzz(in folder: String, _ options: ArraySlice<String>) -> Never {
        print("libav \(RoomLibraries.loaded.release)")
        drive(in: folder, options) { bytes, count in
            _ = FuzzedFile.shared.verdict(on: UnsafeRawBufferPointer(start: bytes, count: count))
            return 0
        }
    }

    private static func drive(
        in folder: String,
        _ options: ArraySlice<String>,
        _ input: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
    ) -> Never {
        let words = ["fuzz-rooms", "\(folder)/learned", "\(folder)/seeds"] + options
        // The process needs these strings until its end, so they are never freed.
        let pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let list = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: pointers.count)
        _ = list.initialize(from: pointers)
        exit(fuzz_drive(Int32(words.count), list.baseAddress, input))
    }

    private static func replayTexts(_ paths: ArraySlice<String>) throws {
        for path in paths {
            let (reader, isTaken) = FuzzedText.read(Array(try Bytes.read(path)))
            print("\(path): \(reader), \(isTaken ? "taken" : "refused")")
        }
    }

    private static func replay(_ paths: ArraySlice<String>) throws {
        for path in paths {
            let verdict = try Bytes.read(path).withUnsafeBytes { FuzzedFile.shared.verdict(on: $0) }
            print("\(path): \(verdict), \(fuzz_noted_calls()) calls of libav's noted")
        }
    }
}
