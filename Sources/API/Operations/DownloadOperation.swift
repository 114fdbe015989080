import Conversion
import FoundationEssentials
import HTTPServer
import Ledger
import Storage

/// How programs get what a job has made.
enum DownloadOperation {
    static func value(_ share: FileShare) -> Operation {
        Operation(
            name: "downloadOutput",
            method: .get,
            path: "/api/v1/jobs/{job}/outputs/{output}",
            summary: "an output of a completed job, or a range of its bytes",
            access: .readers,
            parameters: [
                Operation.Parameter("job", .id, "the job's number"),
                Operation.Parameter("output", .whole(1...1_000), "the output's place in the recipe; 1 is the first"),
            ],
            answerType: "*/*",
            furtherStatuses: [.partialContent]
        ) { call in try await run(call, share) }
    }

    private static func run(_ call: Call, _ share: FileShare) async throws -> HTTPAnswer {
        let (job, number) = (call.whole("job") ?? 0, Int(call.whole("output") ?? 0))
        guard let story = try await call.ledger.story(of: job) else {
            throw Problem(.noSuchThing, "there is no job \(job)")
        }
        let (output, fingerprint) = try published(number, of: story)
        let location: Location
        do throws(StorageError) { location = try Location(output.location) } catch {
            throw Problem(.notServed, "\(output.location) is below no root")
        }
        let root = try share.root(forDownloads: location.root)
        let file: ServedFile
        do {
            file = try await share.open(location, in: root, for: call.caller.account)
        } catch let error as StorageError {
            throw problem(error)
        }
        var isOurs = true
        // What the answer does not keep is closed here.
        defer { if isOurs { share.end(file, in: root.name, for: call.caller.account) } }
        do {
            let publishedAt = Int64(story.summary.since.timeIntervalSince1970)
            let holds = try await share.holds(file, in: root.name, fingerprint, job: job, publishedAt: publishedAt)
            guard holds else { throw Problem(.outputChanged, "\(location) was changed after job \(job) had made it") }
        } catch let error as StorageError {
            throw problem(error)
        }
        var (answer, part) = try answer(to: call.head, fingerprint)
        answer.fields += fields(output, location, fingerprint)
        if let part {
            isOurs = false
            answer.body = .file(share.feed(file, part, in: root.name, for: call.caller.account))
        }
        return answer
    }

    /// The output of that number and its fingerprint. Throws if the job has not published it.
    private static func published(
        _ number: Int,
        of story: JobStory
    ) throws(Problem) -> (Recipe.Output, Fingerprint) {
        let summary = story.summary
        guard summary.state == .completed else {
            throw Problem(.noOutput, "job \(summary.job) is \(summary.state.rawValue)")
        }
        // `try?`: a recipe of a later version says where its outputs are in words that this build does not know.
        guard let recipe = try? Recipe(json: story.recipe), recipe.outputs.indices.contains(number - 1) else {
            throw Problem(.noSuchThing, "job \(summary.job) has no output \(number)")
        }
        let first = summary.digest.flatMap { digest in summary.bytes.map { PublishedFile(digest: digest, bytes: $0) } }
        let files = [first] + summary.further
        guard files.indices.contains(number - 1), let file = files[number - 1],
            let fingerprint = Fingerprint(hexDigest: file.digest, byteCount: file.bytes)
        else { throw Problem(.noOutput, "output \(number) was left alone, because its destination existed") }
        return (recipe.outputs[number - 1], fingerprint)
    }

    /// The answer without its body, and the part of the file that the body is; `nil`: none.
    private static func answer(
        to head: RequestHead,
        _ fingerprint: Fingerprint
    ) throws(Problem) -> (HTTPAnswer, Range<Int64>?) {
        let (length, tag) = (fingerprint.byteCount, tag(fingerprint))
        if head.field("if-match") != nil, !head.names(tag, in: "if-match", weakly: false) {
            throw Problem(.otherVersion)
        }
        if head.names(tag, in: "if-none-match", weakly: true) { return (HTTPAnswer(.notModified), nil) }
        // A date cannot be compared with a digest, so a range with one gets the whole file.
        let isSame = head.field("if-range").map { $0 == tag } ?? true
        let range = head.method == "GET" && isSame ? ByteRange(head.field("range"), of: length) : .whole
        switch range {
        case .whole: return (HTTPAnswer(.ok), 0..<length)
        case .part(let part):
            let field = ("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)")
            return (HTTPAnswer(.partialContent, fields: [field]), part)
        case .outside:
            var problem = Problem(.badRange, "the file has \(length) bytes")
            problem.length = length
            throw problem
        }
    }

    private static func tag(_ fingerprint: Fingerprint) -> String { "\"\(fingerprint.hexDigest)\"" }

    private static func fields(
        _ output: Recipe.Output,
        _ location: Location,
        _ fingerprint: Fingerprint
    ) -> [(name: String, value: String)] {
        // `try?`: the job has made the output, so its format is known; a later build may know more of them.
        let sound = try? output.audioFormat().container.mediaType
        let picture = output.waveform == nil ? nil : Recipe.Waveform.Kind(ofLocation: output.location)?.mediaType
        let type = sound ?? picture ?? "application/octet-stream"
        // The name is written by RFC 8187.
        return [
            ("Content-Type", type), ("ETag", tag(fingerprint)), ("Accept-Ranges", "bytes"),
            ("Repr-Digest", DigestField.text(fingerprint.sha256)), ("Cache-Control", "private, no-cache"),
            ("Content-Disposition", "attachment; filename*=UTF-8''\(location.name.percentEncoded(keeping: "._-"))"),
        ]
    }

    private static func problem(_ error: StorageError) -> any Error {
        switch error.code {
        case .sourceNotFound, .notAFile, .outsideRoot: Problem(.outputGone, error.failure.message)
        case .permissionDenied, .rootForbids: Problem(error.failure, .forbidden)
        case .storageUnavailable, .tooManyFiles: Problem(error.failure, .serviceUnavailable)
        default: error
        }
    }
}

extension Container {
    /// The registered type, or the usual one where none is registered.
    fileprivate var mediaType: String {
        switch self {
        case .wav: "audio/wav"
        case .aiff, .aifc: "audio/aiff"
        case .caf: "audio/x-caf"
        case .au: "audio/basic"
        case .flac: "audio/flac"
        case .m4a, .mp4: "audio/mp4"
        case .adts: "audio/aac"
        case .mp3: "audio/mpeg"
        case .ogg: "audio/ogg"
        case .webm: "audio/webm"
        case .mka: "audio/x-matroska"
        case .w64, .raw, .wavpack: "application/octet-stream"
        }
    }
}
