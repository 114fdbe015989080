-- For wrk: requests for a path in which "JOB" stands for a random job, and a line of JSON at the end.
--
-- Arguments: the path, and the number of jobs in the ledger.

local path, jobs

function init(arguments)
    path, jobs = arguments[1], tonumber(arguments[2])
    math.randomseed(os.time())
end

function request()
    return wrk.format("GET", (path:gsub("JOB", math.random(jobs))))
end

function done(summary, latency, _)
    local errors = summary.errors
    print(string.format(
        '{"requests": %d, "seconds": %.6f, "p50": %.3f, "p95": %.3f, "errors": %d}',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(95) / 1e3,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout
    ))
end
