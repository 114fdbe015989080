import TestSupport

extension ManyTags {
    /// The file that supplies the sound.
    var kind: SampleFile.Kind {
        switch self {
        case .matroskaOneTag, .matroskaManyTags, .matroskaManyLists, .matroskaNested, .matroskaChapters: .mkaPCM
        case .flacNames, .flacOneName, .flacBlocks, .flacPadding: .flac
        case .oggNames, .oggOneName: .oggOpus
        case .id3Frames, .id3Private, .id3Tags: .mp3VBR
        case .waveID3, .waveInfo: .wav
        case .apeItems: .wavPack
        case .mp4Items: .m4aALAC
        case .cafStrings: .cafPCM
        }
    }

    /// The file of this kind with `count` tags more.
    func bytes(_ count: Int) throws -> [UInt8] { try bytes(count, around: SampleFile.of(kind).bytes) }
}
