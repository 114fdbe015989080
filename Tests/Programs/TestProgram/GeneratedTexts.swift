import FuzzedTexts
import Glibc

/// Gives every reader of texts COUNT generated inputs and prints how many each accepted, one line per reader. If an
/// input violates an invariant, the process ends and FILE contains that input. For tests that run against the build
/// that users get.
enum GeneratedTexts {
    static func run(_ words: [String]) {
        guard words.count == 3, let count = Int(words[0]), let seed = UInt64(words[1]) else {
            print("usage: test-program texts COUNT SEED FILE")
            exit(64)
        }
        let file = open(words[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            perror(words[2])
            exit(66)
        }
        // As in rooms, so that Swift's runtime starts no program to print a backtrace.
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV] { signal(number, SIG_DFL) }

        for reader in FuzzedText.allCases {
            var generator = TextGenerator(for: reader, seed: seed)
            var taken = 0
            for _ in 0..<count {
                let input = generator.next()
                // Saved before it is read, because a trap ends this process.
                guard ftruncate(file, 0) == 0,
                    input.withUnsafeBytes({ pwrite(file, $0.baseAddress, $0.count, 0) }) == input.count
                else { exit(74) }
                if FuzzedText.read(input).isTaken { taken += 1 }
            }
            print("\(reader) \(taken)")
        }
    }
}
