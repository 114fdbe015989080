import Conversion

/// The colours of a picture, as 0xRRGGBB.
struct PictureColours {
    /// `nil` for a transparent picture.
    let background: UInt32?
    let wave: UInt32
    let line: UInt32
    let lineOpacity: Double
    let text: UInt32

    init(_ theme: Recipe.Waveform.Theme) {
        lineOpacity = theme == .transparent ? 0.4 : 1
        switch theme {
        case .light: (background, wave, line, text) = (0xFFFFFF, 0x1F6F8B, 0xD5DDE2, 0x55636D)
        case .dark: (background, wave, line, text) = (0x12181D, 0x6CC3D5, 0x2F3B44, 0x9AA9B4)
        case .transparent: (background, wave, line, text) = (nil, 0x3F8FA8, 0x8A98A3, 0x7D8B96)
        }
    }
}
