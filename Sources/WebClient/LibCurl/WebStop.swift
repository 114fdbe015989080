import CCurl
import Synchronization

/// Ends requests from another thread, at once, also while the other side is silent.
package final class WebStop: Sendable {
    /// A handle of libcurl. Only `curl_multi_wakeup` is called on it from other threads, which libcurl permits until
    /// the handle is freed; the lock keeps it from being freed meanwhile.
    private struct Multi: @unchecked Sendable { let pointer: UnsafeMutableRawPointer }

    private struct State {
        var isStopped = false
        /// One for each request that runs with it.
        var multis: [Multi] = []
    }

    private let state = Mutex(State())
    private let parent: WebStop?

    /// With `parent`, requests that run with this stop also end when `parent` is stopped. This one leaves `parent` alone.
    package init(below parent: WebStop? = nil) { self.parent = parent }

    package var isStopped: Bool { state.withLock { $0.isStopped } || parent?.isStopped == true }

    /// Ends the requests that run with it, and all that would begin.
    package func stop() {
        state.withLock { state in
            state.isStopped = true
            for multi in state.multis { curl_multi_wakeup(multi.pointer) }
        }
    }

    private func add(_ multi: Multi) {
        state.withLock { $0.multis.append(multi) }
        parent?.add(multi)
    }

    private func remove(_ multi: Multi) {
        state.withLock { state in
            if let place = state.multis.firstIndex(where: { $0.pointer == multi.pointer }) {
                state.multis.remove(at: place)
            }
        }
        parent?.remove(multi)
    }

    /// Does what `curl_easy_perform` does, and returns `CURLE_ABORTED_BY_CALLBACK` when it is stopped. Connections are kept
    /// in `multi`, which the caller frees later.
    func perform(_ handle: UnsafeMutableRawPointer, in multi: UnsafeMutableRawPointer) -> CURLcode {
        let shared = Multi(pointer: multi)
        add(shared)
        defer {
            remove(shared)
            curl_multi_remove_handle(multi, handle)
        }
        guard curl_multi_add_handle(multi, handle) == CURLM_OK else { return CURLE_FAILED_INIT }
        while !isStopped {
            var running: CInt = 0
            guard curl_multi_perform(multi, &running) == CURLM_OK else { return CURLE_FAILED_INIT }
            var waiting: CInt = 0
            if let message = curl_multi_info_read(multi, &waiting), message.pointee.msg == CURLMSG_DONE {
                return message.pointee.data.result
            }
            // Returns when something arrives, when it is woken, and in time for libcurl's own limits.
            guard curl_multi_poll(multi, nil, 0, 1_000, nil) == CURLM_OK else { return CURLE_FAILED_INIT }
        }
        return CURLE_ABORTED_BY_CALLBACK
    }
}
