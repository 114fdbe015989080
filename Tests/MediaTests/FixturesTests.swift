import Foundation
import TestSupport
import Testing

/// Wrong fixtures would invalidate every test that uses them, so `ffmpeg` checks them here.
@Suite struct SignalTests {
    @Test func toneHasItsLevelAndRepeatsExactly() throws {
        let tone = Signal.tone(1_000, rate: 44_100, frames: 44_100, channels: 2, amplitude: 0.5)
        let pcm = tone.pcm(.f64)
        #expect(pcm.frames == 44_100 && pcm.channels == 2)
        #expect(pcm.peaks.allSatisfy { abs($0 - 0.5) < 1e-4 })
        #expect(pcm.rms.allSatisfy { abs($0 - 0.5 / 2.0.squareRoot()) < 1e-9 })
        #expect(try pcm.cut(0..<441) == pcm.cut(44_100 - 441..<44_100))
        #expect(Signal.tone(440.5, rate: 8_000, frames: 100).frames == 100)
    }

    @Test func rampVisitsEveryLowByteAndSurvivesTwentyFourBits() throws {
        let ramp = Signal.ramp24(rate: 48_000, frames: 1_000, channels: 2)
        let values = ramp.integers(bits: 24)
        let lowBytes = Set(values[0].prefix(256).map { value in value & 0xFF })
        #expect(lowBytes.count == 256)
        #expect(values[0] != values[1])
        #expect(ramp.pcm(.s24).signal == ramp)
        #expect(ramp.pcm(.s32).signal == ramp)
        #expect(ramp.pcm(.s32).bytes[0] == 0)
    }

    @Test(arguments: PCM.SampleFormat.allCases) func fullScaleClipsAndNeverWraps(format: PCM.SampleFormat) {
        let edges = Signal(rate: 8_000, channels: [[1, -1, 0, 2, -2]])
        let samples = edges.pcm(format).samples(channel: 0)
        if format.isFloat {
            #expect(samples == [1, -1, 0, 2, -2])
        } else {
            let greatest = 1 - exp2(-Double(format.bits - 1))
            #expect(samples == [greatest, -1, 0, greatest, -1])
        }
    }

    @Test func fewerSignificantBitsLeaveLowBitsZero() {
        let pcm = Signal.noise(seed: 3, rate: 8_000, frames: 500).pcm(.s24, significantBits: 20)
        #expect(stride(from: 0, to: pcm.bytes.count, by: 3).allSatisfy { pcm.bytes[$0] & 0x0F == 0 })
    }

    @Test func seedsDecideNoiseAndSpeech() {
        #expect(Signal.noise(seed: 1, rate: 8_000, frames: 99) == Signal.noise(seed: 1, rate: 8_000, frames: 99))
        #expect(Signal.noise(seed: 1, rate: 8_000, frames: 99) != Signal.noise(seed: 2, rate: 8_000, frames: 99))
        // The published first output of SplitMix64 for seed 1234567.
        var generator = SeededGenerator(seed: 1_234_567)
        #expect(generator.next() == 6_457_827_717_110_365_317)
        let speech = Signal.speechLike(seed: 5)
        #expect(speech == Signal.speechLike(seed: 5))
        #expect(speech.frames == 32_000 && speech.rate == 8_000)
        let pcm = speech.pcm(.s16)
        #expect(pcm.peaks[0] > 0.05 && pcm.peaks[0] <= 0.5)
    }

    @Test func melodyIsStereoAndDoesNotClip() {
        let melody = Signal.melody().pcm(.f32)
        #expect(melody.channels == 2 && melody.seconds > 5 && melody.seconds < 10)
        #expect(abs((melody.peaks.max() ?? 0) - 0.7) < 1e-6)
        #expect(melody.rms.allSatisfy { $0 > 0.05 })
    }

    @Test func minuteOfStereoTakesLittleTime() {
        let frames = 60 * 48_000
        let tone = ProcessorTime.measure { Signal.tone(997, rate: 48_000, frames: frames, channels: 2).pcm(.s16) }
        let sweep = ProcessorTime.measure { Signal.sweep(rate: 48_000, frames: frames, channels: 2).pcm(.s24) }
        #expect(tone.time < .seconds(10) && sweep.time < .seconds(10))
    }
}

@Suite struct PCMTests {
    private let noise = Signal.noise(seed: 7, rate: 16_000, frames: 40_000, channels: 2).pcm(.s16)

    @Test func cutPartsJoinToTheWhole() throws {
        #expect(try noise.cut(0..<1).followed(by: noise.cut(1..<40_000)) == noise)
        #expect(try noise.cut(5..<5).frames == 0)
        #expect(throws: SupportError.self) { try noise.cut(0..<40_001) }
        #expect(throws: SupportError.self) { try noise.followed(by: noise.converted(to: .s24)) }
    }

    @Test(arguments: [0, 1, -1, 1_105, -2_112, 5_000, -5_000]) func lagIsFound(lag: Int) throws {
        let silence = Signal.silence(rate: 16_000, frames: abs(lag), channels: 2).pcm(.s16)
        let late = lag >= 0 ? try silence.followed(by: noise) : try noise.cut(-lag..<noise.frames)
        #expect(try late.bestLag(against: noise) == lag)
        #expect(try late.bestLag(against: noise, channel: 1) == lag)
    }

    @Test func lagOfShortAndLongAndSteadySoundsIsFound() throws {
        let click = Signal.impulse(at: 3, rate: 8_000, frames: 10).pcm(.s16)
        let later = Signal.impulse(at: 7, rate: 8_000, frames: 10).pcm(.s16)
        #expect(try later.bestLag(against: click) == 4)
        let tone = Signal.tone(100, rate: 8_000, frames: 30_000).pcm(.s16)
        #expect(try tone.bestLag(against: tone) == 0)
        #expect(try tone.cut(10..<30_000).bestLag(against: tone) == -10)
        let melody = Signal.melody().pcm(.s16)
        let minute = try PCM.joined(Array(repeating: melody, count: 8))
        #expect(try minute.cut(777..<minute.frames).bestLag(against: minute) == -777)
        #expect(throws: SupportError.self) {
            try click.bestLag(against: Signal.silence(rate: 8_000, frames: 10).pcm(.s16))
        }
    }

    @Test func noiseRatioCountsBits() throws {
        let exact = Signal.noise(seed: 9, rate: 8_000, frames: 20_000, amplitude: 1)
        let ratio = try exact.pcm(.s16).converted(to: .f64).snr(against: exact.pcm(.f64))
        // White noise at full scale against rounding noise: 6.02 dB per bit.
        #expect(abs(ratio[0] - 96.3) < 0.3)
        #expect(try noise.snr(against: noise) == [.infinity, .infinity])
        #expect(throws: SupportError.self) { try noise.cut(0..<9).snr(against: noise) }
    }
}

@Suite struct WrittenFilesTests {
    private let folder: TemporaryFolder
    private let signal = Signal.stacked([
        .sweep(rate: 22_050, frames: 5_001), .noise(seed: 11, rate: 22_050, frames: 5_001),
    ])

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: PCM.SampleFormat.allCases) func ffmpegReadsTheSameSamples(format: PCM.SampleFormat) throws {
        let pcm = signal.pcm(format)
        try WAVFile.write(pcm, to: folder.path("a.wav"))
        try AIFFFile.write(pcm, to: folder.path("a.aiff"))
        try AUFile.write(pcm, to: folder.path("a.au"))
        for name in ["a.wav", "a.aiff", "a.au"] {
            #expect(try FFmpeg.decode(folder.path(name), to: format) == pcm, "\(name)")
        }
        #expect(try WAVFile.read(path: folder.path("a.wav")) == pcm)
    }

    @Test(arguments: G711.allCases) func ffmpegReadsCompandedSamples(law: G711) throws {
        let full = Signal.sweep(rate: 8_000, frames: 9_999, amplitude: 1).pcm(.s16)
        try WAVFile.write(full, to: folder.path("a.wav"), options: .init(law: law))
        try AUFile.write(full, to: folder.path("a.au"), law: law)
        for name in ["a.wav", "a.au"] {
            let decoded = try FFmpeg.decode(folder.path(name))
            #expect(decoded.frames == 9_999)
            #expect(try decoded.snr(against: full)[0] > 36)
        }
        // Every code survives a round trip.
        let codes = (0...0xFFFF).map { Int16(bitPattern: UInt16($0)) }.map(law.encode)
        #expect(Set(codes).count == 256)
        #expect(throws: SupportError.self) {
            try WAVFile.bytes(full.converted(to: .s24), options: .init(law: law))
        }
    }

    @Test(arguments: [1, 3, 6, 8]) func maskNamesTheSpeakersUnlessLeftOut(channels: Int) throws {
        let pcm = Signal.noise(seed: 1, rate: 48_000, frames: 100, channels: channels).pcm(.s24)
        try WAVFile.write(pcm, to: folder.path("named.wav"))
        try WAVFile.write(pcm, to: folder.path("unnamed.wav"), options: .init(leavesOutChannelMask: true))
        let named = try FFmpeg.probe(folder.path("named.wav"))
        #expect(named.audio[0].channelLayout == [1: "mono", 3: "3.0", 6: "5.1", 8: "7.1"][channels])
        #expect(named.audio[0].codec == "pcm_s24le")
        let header = try WAVFile.header(of: Bytes.read(folder.path("unnamed.wav")))
        #expect(header.isExtensible && header.channelMask == 0 && header.formatTag == 1)
        #expect(try FFmpeg.decode(folder.path("unnamed.wav"), to: .s24) == pcm)
    }

    @Test(arguments: [0, 0xFFFF_FFFF] as [UInt32]) func wrongDataSizeIsWritten(size: UInt32) throws {
        let bytes = try WAVFile.bytes(signal.pcm(.s16), options: .init(claimedDataSize: size))
        #expect(try Bytes.little(UInt32.self, in: bytes, at: 4) == size)
        let data = try #require(Bytes.find("data", in: bytes))
        #expect(try Bytes.little(UInt32.self, in: bytes, at: data + 4) == size)
        try Bytes.write(bytes, to: folder.path("a.wav"))
        #expect(try FFmpeg.decode(folder.path("a.wav"), inputArguments: ["-ignore_length", "1"]).frames == 5_001)
    }

    @Test func tagsAreRead() throws {
        let options = WAVFile.Options(info: [("INAM", "Odd"), ("IART", "Sluice")])
        try WAVFile.write(signal.pcm(.u8), to: folder.path("a.wav"), options: options)
        let probe = try FFmpeg.probe(folder.path("a.wav"))
        #expect(probe.tags["title"] == "Odd" && probe.tags["artist"] == "Sluice")
        #expect(probe.audio[0].duration == 5_001 && probe.formatName == "wav")
    }

    @Test func encodedFileIsProbedAndComesBack() throws {
        let pcm = signal.pcm(.s16)
        try FFmpeg.encode(pcm, to: folder.path("a.flac"), ["-metadata", "title=Ä"])
        try FFmpeg.encode(folder.path("a.flac"), to: folder.path("b.m4a"), ["-c:a", "alac"])
        #expect(try FFmpeg.decode(folder.path("b.m4a")) == pcm)
        #expect(try FFmpeg.decode(folder.path("b.m4a"), extraArguments: ["-ar", "11025"]).rate == 11_025)
        let probe = try FFmpeg.probe(folder.path("b.m4a"))
        #expect(probe.tags["title"] == "Ä" && probe.audio[0].codec == "alac")
        #expect(probe.audio[0].bitsPerRawSample == 16 && probe.attachedPictures.isEmpty)
    }

    @Test func emptyFilesAreWritten() throws {
        let empty = Signal.silence(rate: 8_000, frames: 0).pcm(.s16)
        try WAVFile.write(empty, to: folder.path("a.wav"))
        #expect(try WAVFile.read(path: folder.path("a.wav")) == empty)
    }

    @Test func shortFileIsRefused() throws {
        try WAVFile.write(signal.pcm(.s16), to: folder.path("a.wav"))
        try Bytes.truncate(folder.path("a.wav"), toFraction: 0.5)
        #expect(throws: SupportError.self) { try WAVFile.read(path: folder.path("a.wav")) }
    }
}

@Suite struct WAVStreamTests {
    @Test func streamRepeatsItsLoop() throws {
        let pipe = try OpenPipe.open()
        let stream = WAVFile.stream(frames: 90_000, rate: 8_000, channels: 1, to: pipe.takeWriting())
        let run = try Run.program("cat", input: .descriptor(pipe.reading)).checked()
        #expect(try stream.finish() == 90_000)
        let loop = WAVStream.loop(rate: 8_000, channels: 1, format: .s16)
        let expected = try PCM.joined([loop, loop, loop.cut(0..<10_000)])
        #expect(try WAVFile.read([UInt8](run.stdout)) == expected)
    }

    @Test func streamEndsWhenItsReaderGoes() throws {
        let pipe = try OpenPipe.open()
        let stream = WAVFile.stream(frames: nil, to: pipe.takeWriting())
        let run = try Run.program("head", ["-c", "1000000"], input: .descriptor(pipe.reading)).checked()
        pipe.closeReading()
        let frames = try stream.finish()
        #expect(frames >= 249_000 && frames < 400_000)
        #expect(try WAVFile.header(of: [UInt8](run.stdout)).dataSize == 0xFFFF_FFFF)
    }

    @Test func tenHoursClaimTheirSizeOrTheGreatest() throws {
        for (channels, size) in [(1, 36_000 * 44_100 * 2), (2, 0xFFFF_FFFF)] {
            let pipe = try OpenPipe.open()
            let stream = WAVFile.stream(frames: 36_000 * 44_100, channels: channels, to: pipe.takeWriting())
            let run = try Run.program("head", ["-c", "44"], input: .descriptor(pipe.reading)).checked()
            pipe.closeReading()
            try stream.finish()
            #expect(try WAVFile.header(of: [UInt8](run.stdout)).dataSize == size)
        }
    }

    @Test func otherTroubleIsToldAtTheEnd() throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        #expect(throws: SupportError.self) { try WAVFile.stream(frames: 9, to: full).finish() }
    }
}

@Suite struct RunTests {
    @Test func largeInputAndOutputsDoNotBlockEachOther() throws {
        let much = Data(repeating: 0x61, count: 3_000_000)
        let run = try Run.program("sh", ["-c", "tee /dev/stderr"], input: .data(much)).checked()
        #expect(run.stdout == much && run.stderr == much)
    }

    @Test func programThatIgnoresItsInputIsNoTrouble() throws {
        let run = try Run.program("true", input: .data(Data(repeating: 0, count: 1_000_000)))
        #expect(run.status == .exited(0))
    }

    @Test func statusTellsExitSignalAndTime() throws {
        #expect(try Run.program("sh", ["-c", "exit 7"]).status == .exited(7))
        #expect(try Run.program("sh", ["-c", "kill -SEGV $$"]).status == .signalled(SIGSEGV))
        let clock = ContinuousClock()
        let start = clock.now
        // A busy machine may need longer than the first limits to start the program.
        var output = ""
        for limit in [Duration.milliseconds(300), .seconds(3), .seconds(30)] where output.isEmpty {
            let late = try Run.program("sh", ["-c", "echo begun; sleep 1000 & sleep 1000"], limit: limit)
            #expect(late.status == .timedOut(limit))
            output = late.outputText
        }
        #expect(output == "begun\n")
        let silent = try Run.program("sh", ["-c", "exec >&- 2>&-; sleep 1000"], limit: .milliseconds(300))
        #expect(silent.status == .timedOut(.milliseconds(300)))
        #expect(clock.now - start < .seconds(300))
    }

    @Test func failureCarriesStandardError() throws {
        let run = try Run.program("sh", ["-c", "echo dear me >&2; exit 1"])
        let error = #expect(throws: SupportError.self) { try run.checked() }
        #expect(error?.description.contains("dear me") == true)
        #expect(throws: SupportError.self) { try Run.program("no-such-program-anywhere") }
    }

    @Test func environmentAndFolderAreThoseGiven() throws {
        let folder = try TemporaryFolder.create()
        let run = try Run.program("/usr/bin/env", environment: ["ONLY": "this"], folder: folder.path)
        #expect(run.outputText == "ONLY=this\n")
        #expect(try Run.program("pwd", folder: folder.path).outputText == folder.path + "\n")
    }

    @Test func childHoldsNoDescriptorOfOurs() throws {
        let inherited = open("/dev/null", O_RDONLY)  // without O_CLOEXEC
        defer { close(inherited) }
        let run = try Run.program("ls", ["/proc/self/fd"]).checked()
        // Descriptor 3 is the directory that ls itself reads.
        let descriptors: [Substring] = run.outputText.split(separator: "\n")
        #expect(descriptors == ["0", "1", "2", "3"])
    }

    @Test func ffmpegIsPresentAndTellsItsErrors() throws {
        #expect(FFmpeg.isPresent)
        let error = #expect(throws: SupportError.self) { try FFmpeg.decode("/nowhere.wav") }
        #expect(error?.detail.contains("No such file") == true)
    }
}

@Suite struct BytesTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder.create()
        path = folder.path("bytes")
        try Bytes.write([UInt8](repeating: 0, count: 10_000), to: path)
    }

    @Test func corruptionIsSeededAndSparesTheHead() throws {
        let flipped = try Bytes.corrupt(path, seed: 4, rate: 0.01, from: 1_000)
        let first = try Bytes.read(path)
        #expect(first.reduce(0) { $0 + $1.nonzeroBitCount } == flipped)
        #expect((60...120).contains(flipped))
        #expect(first[..<1_000].allSatisfy { $0 == 0 })
        try Bytes.corrupt(path, seed: 4, rate: 0.01, from: 1_000)
        #expect(try Bytes.read(path).allSatisfy { $0 == 0 })
    }

    @Test func bytesAreOverwrittenFoundAndCutOff() throws {
        try Bytes.overwrite(path, at: 9_998, with: Array("RIFF".utf8))
        #expect(try Bytes.size(of: path) == 10_002)
        let bytes = try Bytes.read(path)
        #expect(Bytes.find("RIFF", in: bytes) == 9_998)
        #expect(Bytes.find("FF", in: bytes, from: 10_000) == 10_000)
        #expect(Bytes.find("RIFX", in: bytes) == nil)
        #expect(Bytes.find([0, 0x52], in: bytes) == 9_997)
        #expect(try Bytes.truncate(path, toFraction: 0.5) == 5_001)
        #expect(try Bytes.read(path).count == 5_001)
    }

    @Test func numbersAndDumpsAreReadable() throws {
        let bytes: [UInt8] = [0x01, 0x02, 0x03, 0x41]
        #expect(try Bytes.big(UInt32.self, in: bytes, at: 0) == 0x0102_0341)
        #expect(try Bytes.little(Int16.self, in: bytes, at: 1) == 0x0302)
        #expect(throws: SupportError.self) { try Bytes.big(UInt32.self, in: bytes, at: 1) }
        #expect(Bytes.hexDump(bytes).hasPrefix("00000000  01 02 03 41"))
        #expect(Bytes.hexDump(bytes).hasSuffix(" ...A"))
    }

    @Test func folderGoesWithItsOwner() throws {
        var doomed: TemporaryFolder? = try TemporaryFolder.create()
        let path = try #require(doomed?.path)
        try Bytes.write([1], to: path + "/file")
        #expect(try doomed?.names() == ["file"])
        doomed = nil
        #expect(throws: SupportError.self) { try OpenFile.reading(path).release() }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func openFileClosesItsDescriptor() throws {
        var descriptor: Int32 = -1
        do {
            let file = try OpenFile.creating(path)
            descriptor = file.descriptor
            #expect(fcntl(descriptor, F_GETFD) >= 0)
        }
        // The number is free by now, or belongs to another test's file. `try?`: a free one has no link to read.
        let facts = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        #expect(facts != path)
        #expect(throws: SupportError.self) { _ = try OpenFile.reading("/nowhere/at/all").release() }
    }
}
