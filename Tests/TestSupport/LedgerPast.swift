/// SQL that fills a ledger with history: millions of finished jobs, written straight into its tables.
///
/// Of each thousand jobs 970 are completed, 25 failed and 5 cancelled; `batchSize` jobs form a batch. They belong
/// to the queue `default`. The ledger must not have any jobs yet.
public struct LedgerPast: Sendable {
    public let schema: String
    public let jobs: Int
    public let batchSize: Int

    public init(schema: String, jobs: Int, batchSize: Int = 50_000) {
        precondition(jobs.isMultiple(of: batchSize), "a past of whole batches")
        (self.schema, self.jobs, self.batchSize) = (schema, jobs, batchSize)
    }

    /// The statements to run first.
    public var opening: String {
        """
        set search_path = \(schema);
        insert into share (queue, submitter) values (1, session_user) on conflict do nothing;
        insert into lane (queue, share, priority, needs) values (1, 1, 0, '{recipe:1}') on conflict do nothing;
        select make_spans(\(jobs));
        select setval('job_id', \(jobs))
        """
    }

    /// The first job of each batch. Batches may be written in any order and in parallel.
    public var starts: StrideTo<Int> { stride(from: 1, to: jobs + 1, by: batchSize) }

    /// The statement that writes the batch that begins with job `start`.
    public func batch(from start: Int) -> String {
        let end = start + batchSize - 1
        return """
            set search_path = \(schema); set synchronous_commit = off;
            with recent as (
                select now() - interval '20 days' + \(start)::double precision / \(jobs) * interval '10 days' as began
            ), entered as (
                insert into batch (name, queue, priority, weight, created_at, first_job, last_job, jobs, completed,
                                   failed, cancelled)
                select 'past-\(start)', 1, 0, 100, began, \(start), \(end), \(batchSize), \(batchSize) / 1000 * 970,
                       \(batchSize) / 1000 * 25, \(batchSize) / 1000 * 5
                from recent returning id
            ), numbered as materialized (
                select i, e.id as batch, r.began + (i - \(start)) * interval '50 ms' as ended,
                       (case when i % 1000 < 970 then 'completed' when i % 1000 < 995 then 'failed'
                             else 'cancelled' end)::job_state as state
                from generate_series(\(start), \(end)) i, entered e, recent r
            ), asked as (
                insert into job (id, batch, lane, recipe, source, cost, max_attempts)
                select i, batch, 1, jsonb_build_object('version', 1, 'sources',
                           jsonb_build_array(jsonb_build_object('location', location))), location, 1000, 3
                from numbered cross join lateral (
                    select 'past:show-' || i / 200 || '/' || i || '.wav' as location
                ) named
            ), ended as (
                insert into finished (job, batch, queue, state, epoch, spent, lost, room_deaths, priority, ended_at, worker,
                                      digest, size, code, class, stage)
                select i, batch, 1, state, 1, 1, 0, 0, 0, ended, 1,
                       case when state = 'completed' then '\\x\(String(repeating: "5a", count: 32))'::bytea end,
                       case when state = 'completed' then 1000000 end,
                       case when state = 'failed' then case when i % 3 = 0 then 'truncated' else 'corrupt_stream' end end,
                       (case when state = 'failed' then 'permanent' end)::failure_class,
                       case when state = 'failed' then 'decode' end
                from numbered
            )
            insert into attempt (job, epoch, lease_id, worker, slot, started_at, ended_at, outcome, frames_in,
                                 frames_out, cpu_ms, peak_bytes, code, class, stage)
            select i, 1, '00000000-0000-4000-8000-000000000000', 1, 0, ended - interval '5 s', ended,
                   (case state when 'completed' then 'completed' when 'failed' then 'failed' else 'cancelled'
                    end)::attempt_outcome, 1000, 1000, 10, 1000000,
                   case when state = 'failed' then case when i % 3 = 0 then 'truncated' else 'corrupt_stream' end end,
                   (case when state = 'failed' then 'permanent' end)::failure_class,
                   case when state = 'failed' then 'decode' end
            from numbered
            """
    }

    /// The statements to run last; run `vacuum analyze` after them.
    public var ending: String {
        """
        set search_path = \(schema);
        insert into queue_count select queue, state, count(*) from finished group by queue, state;
        insert into failure_count
        select queue, date_trunc('hour', ended_at), code, class, stage, count(*), count(*), max(job), max(ended_at)
        from finished where state = 'failed' group by 1, 2, 3, 4, 5
        """
    }
}
