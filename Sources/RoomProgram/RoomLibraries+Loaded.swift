import FoundationEssentials
import Media
package import PumpRoom

extension RoomLibraries {
    /// Those that this process has loaded.
    package static var loaded: RoomLibraries {
        RoomLibraries(
            build: SluiceBuild.number,
            release: LibAV.release,
            releaseWarning: LibAV.releaseWarning,
            writableCodecs: LibAV.writableCodecs,
            versions: LibAV.libraries.map { "\($0.name) \($0.version)" },
            codecMajor: LibAV.codecMajor
        )
    }

    /// As `sluice` reads them.
    var json: String {
        // `try?`: JSON can write all texts and whole numbers.
        guard let bytes = try? JSONEncoder().encode(self) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
