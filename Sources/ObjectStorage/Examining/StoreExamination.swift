import WebClient

/// Finds out what a bucket is good for as a root: permissions, conditions, what objects keep, the clock, and rules that tidy
/// up.
///
/// Writes objects with a name of its own and removes them. Its calls block.
package struct StoreExamination: Sendable {
    /// How far the store keeps two writers from replacing each other's objects.
    package enum Verdict: String, Sendable, Hashable {
        case exact
        case putOnly = "put only"
        case none

        package var meaning: String {
            switch self {
            case .exact: "no writer replaces what another one has written"
            case .putOnly: "outputs in parts may replace each other; the ledger still decides who may publish"
            case .none: "two writers may replace each other's outputs; the ledger still decides who may publish"
            }
        }
    }

    package enum Level: Sendable, Hashable { case good, notice, failure }

    /// One thing that was examined.
    package struct Line: Sendable, Hashable {
        package let level: Level
        /// For users: a sentence without a full stop.
        package let text: String
        package let hint: String?

        init(_ level: Level, _ text: String, hint: String? = nil) {
            (self.level, self.text, self.hint) = (level, text, hint)
        }
    }

    package struct Report: Sendable, Hashable {
        package fileprivate(set) var lines: [Line] = []
        /// `nil` if the bucket cannot be written.
        package fileprivate(set) var verdict: Verdict?
    }

    private let client: StoreClient
    private let mayWrite: Bool
    private let key: String

    /// `mayWrite`: false for a root that jobs only read.
    package init(_ client: StoreClient, mayWrite: Bool = true) {
        (self.client, self.mayWrite) = (client, mayWrite)
        key = "\(client.address.prefix).sluice-doctor-\(String(UInt64.random(in: 0 ... .max), radix: 16))"
    }

    package func run() -> Report {
        var report = Report()
        examineConnection(&report)
        guard let page = examineList(&report) else { return report }
        guard mayWrite else {
            if let object = page.objects.first { examineReading(object.key, &report) }
            return report
        }
        guard examineObjects(&report) else { return report }
        if examineUploads(&report) {
            examineRaces(&report)
            examineRules(&report)
        }
        // After a lost answer, the store has an upload whose id is not known here.
        // `try?`: the lines above say what the credentials may not do.
        _ = try? client.abortUploads(prefix: key, begunBefore: StoreTime(seconds: .max)) { _ in false }
        return report
    }

    // MARK: - Parts of it

    /// A signature shows no secret, but the session token and all contents cross the network as they are.
    private func examineConnection(_ report: inout Report) {
        let server = client.address.server(in: client.region)
        guard !server.isSecure, !server.isLoopback else { return }
        report.lines.append(
            Line(
                .notice,
                "requests to \(server.authority) are not encrypted: others in the network can read objects and session tokens",
                hint: "use an endpoint that begins with https://"
            )
        )
    }

    /// The beginning of the list; `nil` if the store cannot be used at all.
    private func examineList(_ report: inout Report) -> ObjectPage? {
        do throws(StoreError) {
            var call = StoreCall("GET", "", "list")
            call.parameters = [
                .init("list-type", "2"), .init("encoding-type", "url"), .init("max-keys", "1"),
                .init("prefix", client.address.prefix),
            ]
            let answer = try client.send(call)
            let page = try client.read(call) { () throws(AnswerError) in try ObjectPage(try answer.root()) }
            if let date = answer.answer.header("date").flatMap({ StoreTime(httpDate: $0) }) {
                let seconds = date.seconds - client.time.seconds + client.clockOffset
                let isClose = abs(seconds) < 60
                report.lines.append(
                    isClose
                        ? Line(.good, "the clocks of this machine and of the store agree")
                        : Line(
                            abs(seconds) < 600 ? .notice : .failure,
                            "the clock of this machine is \(abs(seconds)) s \(seconds > 0 ? "behind" : "ahead of") the store's",
                            hint: "set it: stores refuse requests whose time is 15 minutes off"
                        )
                )
            }
            report.lines.append(Line(.good, "objects can be listed"))
            return page
        } catch {
            report.lines.append(line(error, "objects cannot be listed", "s3:ListBucket"))
            return nil
        }
    }

    /// Reads an object that others have written: jobs need that, and a list does not show it.
    private func examineReading(_ key: String, _ report: inout Report) {
        do throws(StoreError) {
            _ = try ObjectReader.open(key, in: client)
            report.lines.append(Line(.good, "objects can be read"))
        } catch {
            // It is gone since the list.
            guard error.kind != .noSuchObject else { return }
            if error.problem?.code == "InvalidObjectState" {
                let advice = "restore archived objects before jobs read them"
                return report.lines.append(
                    Line(.notice, "\(client.place(key)) cannot be read: \(error.detail)", hint: advice)
                )
            }
            report.lines.append(line(error, "objects cannot be read", "s3:GetObject"))
        }
    }

    private func examineObjects(_ report: inout Report) -> Bool {
        do throws(StoreError) {
            _ = try client.put(
                .bytes(Self.content),
                as: key,
                condition: .none,
                order: Self.order,
                contentType: Self.contentType
            )
            report.lines.append(Line(.good, "objects can be written"))
        } catch {
            report.lines.append(line(error, "objects cannot be written", "s3:PutObject"))
            // `try?`: the line above says what is wrong. The object may be there although the answer was lost.
            if error.mayHaveHappened { try? client.delete(key) }
            return false
        }
        var canAll = true
        do throws(StoreError) {
            let reader = try ObjectReader.open(key, in: client)
            let isSame = try content(of: reader) == Self.content
            report.lines.append(
                isSame
                    ? Line(.good, "objects can be read")
                    : Line(.failure, "an object that was written has another content when it is read")
            )
            if let facts = try client.facts(of: key) { examineMarks(facts, &report) }
            canAll = isSame
        } catch {
            report.lines.append(line(error, "objects cannot be read", "s3:GetObject"))
            canAll = false
        }
        do throws(StoreError) {
            try client.delete(key)
            report.lines.append(Line(.good, "objects can be removed"))
        } catch {
            report.lines.append(line(error, "objects cannot be removed: \(client.place(key)) stays", "s3:DeleteObject"))
            canAll = false
        }
        return canAll
    }

    private static let content = Array("sluice".utf8)
    private static let order = "doctor"
    private static let contentType = "audio/flac"

    /// All bytes of an object, and further ones if it is longer than what was written.
    private func content(of reader: ObjectReader) throws(StoreError) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: Self.content.count + 1)
        var count = 0
        while count < room.count {
            let read: Result<Int, StoreError> = room.withUnsafeMutableBytes { room in
                do throws(StoreError) {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: room[count...])
                    return .success(try reader.read(at: Int64(count), into: rest))
                } catch { return .failure(error) }
            }
            let more = try read.get()
            guard more > 0 else { break }
            count += more
        }
        return Array(room.prefix(count))
    }

    /// Looks at what the object says about itself.
    private func examineMarks(_ facts: ObjectFacts, _ report: inout Report) {
        if facts.mark?.order != Self.order || facts.mark?.keyHash != ObjectMark(order: Self.order, key: key).keyHash {
            report.lines.append(
                Line(
                    .notice,
                    "objects lose their metadata (x-amz-meta-)",
                    hint: "without it, an output whose answer was lost counts as the object of another program"
                )
            )
        }
        if facts.contentType != Self.contentType {
            report.lines.append(
                Line(
                    .notice,
                    "objects lose their Content-Type: \(Self.contentType) became \(facts.contentType ?? "none")",
                    hint: "browsers and players may not know what these objects are"
                )
            )
        }
    }

    private func examineUploads(_ report: inout Report) -> Bool {
        var upload: String?
        var canAll = true
        func examine(_ can: String, _ cannot: String, _ action: String, _ body: () throws(StoreError) -> Void) {
            do throws(StoreError) {
                try body()
                report.lines.append(Line(.good, can))
            } catch {
                report.lines.append(line(error, cannot, action))
                canAll = false
            }
        }
        examine("uploads in parts can be begun", "uploads in parts cannot be begun", "s3:PutObject") {
            () throws(StoreError) in upload = try client.beginUpload(to: key, order: nil)
        }
        guard let upload else { return false }
        examine("parts can be listed", "parts cannot be listed", "s3:ListMultipartUploadParts") {
            () throws(StoreError) in _ = try client.parts(of: upload, to: key)
        }
        examine("uploads can be listed", "uploads cannot be listed", "s3:ListBucketMultipartUploads") {
            () throws(StoreError) in try client.uploads(prefix: key) { _ in false }
        }
        examine("uploads can be aborted", "uploads cannot be aborted", "s3:AbortMultipartUpload") {
            () throws(StoreError) in try client.abort(upload, to: key)
        }
        return canAll
    }

    private func examineRaces(_ report: inout Report) {
        let race = StoreRace(client: client, key: key)
        do throws(StoreError) {
            let puts = try race.puts()
            report.lines.append(line(puts, "objects"))
            guard puts == .holds else {
                report.verdict = StoreExamination.Verdict.none
                return
            }
            let completes = try race.completes()
            report.lines.append(line(completes, "uploads in parts"))
            report.verdict = completes == .holds ? .exact : .putOnly
        } catch {
            report.lines.append(line(error, "conditions of writes cannot be examined", "s3:PutObject"))
        }
    }

    private func line(_ finding: StoreRace.Finding, _ what: String) -> Line {
        switch finding {
        case .holds: Line(.good, "of \(what) for one name, one is written")
        case .ignored: Line(.notice, "If-None-Match is ignored for \(what)")
        case .several(let rounds):
            Line(.notice, "in \(rounds) of \(StoreRace.rounds) races of \(what) for one name, several were written")
        }
    }

    private func examineRules(_ report: inout Report) {
        var call = StoreCall("GET", "", "read the lifecycle rules of")
        call.parameters = [.init("lifecycle")]
        let advice =
            "a lifecycle rule with AbortIncompleteMultipartUpload removes parts that a lost worker leaves behind"
        do throws(StoreError) {
            let answer = try client.send(call)
            let root = try client.read(call) { () throws(AnswerError) in try answer.root() }
            let isThere = root.all("Rule").contains { rule in
                rule.text(of: "Status") == "Enabled" && rule["AbortIncompleteMultipartUpload"] != nil
            }
            report.lines.append(
                isThere
                    ? Line(.good, "a lifecycle rule removes incomplete uploads")
                    : Line(.notice, "no lifecycle rule removes incomplete uploads", hint: advice)
            )
        } catch {
            switch error.kind {
            case .unsupported: break
            case _ where error.problem?.status == 404:
                report.lines.append(Line(.notice, "no lifecycle rule removes incomplete uploads", hint: advice))
            default:
                report.lines.append(
                    line(error, "lifecycle rules cannot be read", "s3:GetLifecycleConfiguration", .notice)
                )
            }
        }
    }

    private func line(_ error: StoreError, _ text: String, _ action: String, _ level: Level = .failure) -> Line {
        let isDenied = error.kind == .accessDenied && error.problem?.code == "AccessDenied"
        let hint = isDenied ? "allow \(action) in the policy of the credentials or of the bucket" : error.hint
        return Line(level, "\(text): \(error.detail)", hint: hint)
    }
}
