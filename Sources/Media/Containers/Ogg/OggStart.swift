/// Where the sound of a codec begins in an Ogg file whose first page does not begin at zero, as in recordings of
/// broadcasts.
enum OggStart {
    /// At the first page. libav counts the length from zero.
    case counted
    /// At the first page, which libav subtracts from the length.
    case subtracted
    /// Below zero, by the look-ahead of the encoder.
    case belowZero
}
