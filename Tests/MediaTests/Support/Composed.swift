import Conversion
import TestSupport

@testable import Media

/// Computed sources for timelines that refer to them by name.
struct Sources {
    /// What a reader finds in each source.
    let signals: [String: Signal]
    private let folder: TemporaryFolder
    private let files: [File]

    private final class File {
        let name: String
        let open: OpenFile

        init(_ name: String, _ path: String) throws {
            self.name = name
            open = try OpenFile.reading(path)
        }
    }

    /// Each source is a WAV file of its samples.
    init(_ sounds: KeyValuePairs<String, PCM>) throws {
        let folder = try TemporaryFolder.create()
        self.folder = folder
        files = try sounds.map { name, pcm in
            try WAVFile.write(pcm, to: folder.path("\(name).wav"))
            return try File(name, folder.path("\(name).wav"))
        }
        signals = Dictionary(uniqueKeysWithValues: sounds.map { ($0, $1.signal) })
    }

    /// The files at `paths`, by name.
    init(files paths: KeyValuePairs<String, String>) throws {
        folder = try TemporaryFolder.create()
        files = try paths.map { try File($0, $1) }
        signals = [:]
    }

    var descriptors: [Int32] { files.map { $0.open.descriptor } }
    var inputs: [Converter.Input] { files.map { .init(name: $0.name) } }

    func reader(of timeline: Timeline) throws -> CompositionReader {
        let inputs = files.map { CompositionReader.Input(name: $0.name, descriptor: $0.open.descriptor) }
        return try CompositionReader(timeline, inputs: inputs)
    }

    /// All samples of the timeline, channel by channel.
    func samples(of timeline: Timeline) throws -> [[Double]] {
        let reader = try reader(of: timeline)
        let output = try reader.samples()
        var channels = [[Double]](repeating: [], count: reader.shape.channelCount)
        var block = try SampleBlock()
        var position: Int64 = 0
        while try output.next(into: &block) {
            guard block.position == position else { throw SupportError("read a timeline", "a block is out of place") }
            position += Int64(block.frameCount)
            for (channel, samples) in try block.doubles().enumerated() { channels[channel] += samples }
        }
        guard position == reader.frames, output.deliveredFrames == position, output.promisedFrames == position else {
            throw SupportError("read a timeline", "\(position) frames came instead of \(reader.frames)")
        }
        return channels
    }

    /// Converts the timeline to a file called `name`.
    func convert(
        _ timeline: Timeline,
        to name: String = "out.wav",
        _ change: (inout Converter.Request) -> Void = { _ in }
    )
        throws -> (outcome: Converter.Outcome, path: String)
    {
        let path = folder.path(name)
        let destination = try OpenFile.creating(path)
        var request = Converter.Request(format: try Recipe.Output(location: name).audioFormat())
        (request.timeline, request.inputs) = (timeline, inputs)
        change(&request)
        return (try Converter(request).run(from: descriptors, to: destination.descriptor), path)
    }
}

extension SampleBlock {
    /// The samples of each channel; full scale is 1.
    func doubles() throws -> [[Double]] {
        guard let shape else { return [] }
        guard let format = shape.format.stored else {
            throw SupportError("read samples", "\(shape.format) has no PCM format here")
        }
        let (channels, isPlanar) = (shape.channelCount, shape.format.isPlanar)
        return (0..<channels).map { channel in
            withPlane(isPlanar ? channel : 0) { plane in
                format.doubles(plane, first: isPlanar ? 0 : channel, stride: isPlanar ? 1 : channels, count: frameCount)
            }
        }
    }
}
