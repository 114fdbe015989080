// Gives every reader of texts so many of them, and says how many it took: one line a reader. A text on which something does not hold
// ends the process and lies in FILE then. For tests that must show it in the build that people run.
import FuzzedTexts
import Glibc

let words = CommandLine.arguments.dropFirst()
guard words.count == 3, let count = words.first.flatMap({ Int($0) }),
    let seed = words.dropFirst().first.flatMap({ UInt64($0) })
else {
    print("usage: text-process COUNT SEED FILE")
    exit(64)
}
let file = open(CommandLine.arguments[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
guard file >= 0 else {
    perror(CommandLine.arguments[3])
    exit(66)
}
// As in rooms: no program is started to tell where a trap was.
for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV] { signal(number, SIG_DFL) }

for reader in FuzzedText.allCases {
    var generator = TextGenerator(for: reader, seed: seed)
    var taken = 0
    for _ in 0..<count {
        let input = generator.next()
        // Before it is read, since a trap ends this process.
        guard ftruncate(file, 0) == 0,
            input.withUnsafeBytes({ pwrite(file, $0.baseAddress, $0.count, 0) }) == input.count
        else { exit(74) }
        if FuzzedText.read(input).isTaken { taken += 1 }
    }
    print("\(reader) \(taken)")
}
