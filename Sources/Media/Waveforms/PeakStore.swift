/// What takes the peaks of sound, window by window.
protocol PeakStore: AnyObject {
    /// The frames of the next window.
    var framesPerPair: Int { get }

    /// Called once, before the first window. `channelCount` is that of the peaks.
    func begin(sampleRateHz: Int, channelCount: Int) throws
    /// Takes one window: for each channel, the least sample and the greatest.
    func add(_ window: [Int16]) throws
}
