extension Room {
    /// Has the bytes fetched that a job wants. Returns what is wrong with the question if it cannot be true.
    func fetch(_ question: WindowQuestion, for job: Int64) -> String? {
        guard let place = inFlight.firstIndex(where: { $0.id == job && $0.hasBegun }) else {
            return "a question of job \(job), which has not begun"
        }
        if let wrong = inFlight[place].windows.take(question) { return "job \(job): \(wrong)" }
        // A job that is stopped gets no answer, and does not wait for one.
        guard inFlight[place].stop == nil else { return nil }
        let (number, job) = (question.number, inFlight[place].job)
        job.windows[question.source]?.fill(from: question.offset, count: question.count) { count in
            job.deliver(number, count)
        }
        return nil
    }

    /// Tells the room that its question `number` was answered: with so many bytes, or with none because they cannot be had.
    func answer(_ number: Int64, of job: Int64, _ count: Int?) {
        guard endReason == nil, let place = inFlight.firstIndex(where: { $0.id == job }),
            inFlight[place].windows.end(number)
        else { return }
        send(.filled(job: job, number: number, count: count), about: job)
    }
}

extension RoomJob {
    /// The message to the room that goes before the job; `nil` if none of its sources is fetched.
    var announcement: RoomRequest? {
        guard !windows.isEmpty else { return nil }
        let facts = windows.sorted { $0.key < $1.key }.map {
            WindowFacts(source: $0.key, byteCount: $0.value.byteCount)
        }
        return .windows(job: id, facts)
    }

    /// What the room may ask of the sources that are fetched.
    var windowAccount: WindowAccount {
        // How often a range is repeated may depend on its length, which only the room knows.
        WindowAccount(
            sizes: windows.mapValues(\.byteCount),
            passes: repeatsPieces ? Int(Int32.max) : 1 + earlyPasses + pieceCount
        )
    }
}
