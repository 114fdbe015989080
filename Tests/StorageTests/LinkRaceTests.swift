import Conversion
import Foundation
import Storage
import Synchronization
import TestSupport
import Testing

/// Others who may write to a folder of outputs swap folders for links while the worker opens and publishes.
@Suite(.serialized)
struct LinkRaceTests {
    let outside: TemporaryFolder
    let folder: TemporaryFolder

    init() throws {
        (outside, folder) = (try TemporaryFolder.create(), try TemporaryFolder.create())
        try Bytes.write(Array("outside".utf8), to: outside.path("talk.flac"))
        try #require(mkdir(folder.path("real"), 0o755) == 0)
    }

    /// Runs `swap` on a thread as often as it can until `body` has ended.
    private func race(_ swap: @escaping @Sendable () -> Void, _ body: () throws -> Void) async throws {
        let isOver = Atomic(false)
        async let swapping: Void = SeparateThread.run {
            while !isOver.load(ordering: .relaxed) { swap() }
        }
        let outcome = Result { try body() }
        isOver.store(true, ordering: .relaxed)
        try await swapping
        try outcome.get()
    }

    /// Makes an output, and publishes it.
    private func publish(_ place: Location, in roots: StorageRoots, job: Int64) throws {
        switch try roots.root(of: place).prepareOutput(at: place, onConflict: .replace) {
        case .skipped: throw SupportError("prepare \(place)", "it was skipped")
        case .ready(let output):
            let bytes = Array("inside".utf8)
            try #require(write(output.descriptor, bytes, bytes.count) == bytes.count)
            let fingerprint = try output.fingerprint()
            let attempt = AttemptName(job: job, epoch: 1, lease: .random(in: .min ... .max))
            var group = OutputGroup()
            group.add(output, as: attempt, with: fingerprint)
            for result in group.link(durably: false) { try result.get() }
            let order = PublishOrder(of: attempt, to: place, with: fingerprint, onConflict: .replace)
            for result in roots.publish([order], durably: false) { _ = try result.get() }
        }
    }

    @Test(arguments: [false, true])
    func noOutputAndNoSourceLeavesItsRoot(withoutOpenat2: Bool) async throws {
        let root = try StorageRoot.open(name: "root", path: folder.path, withoutOpenat2: withoutOpenat2)
        let roots = try StorageRoots([root])
        let place = try Location("root:folder/talk.flac")
        let (link, next, away) = (folder.path("folder"), folder.path("next"), outside.path)
        try #require(symlink("real", link) == 0)
        var (published, refused) = (0, 0)
        try await race {
            for target in [away, "real"] {
                _ = symlink(target, next)
                _ = rename(next, link)
            }
        } _: {
            let deadline = ContinuousClock.now + .seconds(600)
            // Step by step, all links are refused.
            while refused < 200 || !withoutOpenat2 && published < 200 {
                try #require(.now < deadline)
                do {
                    try publish(place, in: roots, job: Int64(published + refused + 1))
                    published += 1
                    #expect(try root.openSource(place).byteCount == 6)
                } catch let error as StorageError {
                    // Between two steps the folder has become another one.
                    let possible: Set<FailureCode> = [.outsideRoot, .attemptLost, .sourceNotFound]
                    #expect(possible.contains(error.code), "\(error)")
                    refused += 1
                }
            }
        }
        #expect(withoutOpenat2 ? published == 0 : published > 0)
        #expect(try outside.names() == ["talk.flac"])
        #expect(try text(outside.path("talk.flac")) == "outside")
    }

    /// A new folder gets its permissions after its creation. Another in its place keeps its own.
    @Test func noOtherFolderGetsThePermissionsOfANewOne() async throws {
        let root = try StorageRoot.open(name: "root", path: folder.path)
        let secret = folder.path("secret")
        try #require(mkdir(secret, 0o700) == 0)
        try Bytes.write([1], to: secret + "/file")
        try #require(chmod(folder.path, 0o777) == 0)
        let number = Atomic(0)
        let path = folder.path
        try await race {
            let here = "\(path)/new\(number.load(ordering: .relaxed))"
            if rename(here, here + "-aside") == 0 { _ = symlink("secret", here) }
        } _: {
            for turn in 0..<500 {
                number.store(turn, ordering: .relaxed)
                let place = try Location("root:new\(turn)/talk.flac")
                do throws(StorageError) {
                    switch try root.prepareOutput(at: place, onConflict: .replace) {
                    case .ready: break
                    case .skipped: break
                    }
                } catch {
                    #expect(error.code == .folderNotFound, "\(error)")
                }
            }
        }
        var facts = stat()
        try #require(stat(secret, &facts) == 0)
        #expect(facts.st_mode & 0o777 == 0o700)
    }
}
