public import Conversion
import Dispatch

/// A place for one conversion at a time. What is given while one is under way waits its turn, in order.
public final class RoomSlot: Sendable {
    /// Conversions block, so they have a thread of their own.
    private let queue: DispatchQueue

    public init(_ number: Int) {
        queue = DispatchQueue(label: "room \(number)")
    }

    /// Carries out `work`; cancelling the calling task ends it as a failure with the code `cancelled`.
    ///
    /// `report` is called now and then while frames move, from any thread.
    public func run(
        _ work: RoomWork,
        report: @escaping @Sendable (ConversionProgress) -> Void = { _ in }
    ) async -> RoomOutcome {
        let conversion = RecipeConversion(work.recipe)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: conversion.outcome(of: work, report)) }
            }
        } onCancel: {
            conversion.stop()
        }
    }

    /// Ends what is under way, and hands back what waits.
    public func close() async {}
}

extension RecipeConversion {
    fileprivate func outcome(of work: RoomWork, _ report: @escaping (ConversionProgress) -> Void) -> RoomOutcome {
        do throws(Failure) {
            return .converted(try run(from: work.source, to: work.destination, report: report), RoomCost())
        } catch {
            return .failed(RoomFailure(error))
        }
    }
}
