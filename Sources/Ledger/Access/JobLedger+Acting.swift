extension JobLedger {
    /// The same ledger, over the same connections, for calls on behalf of a principal.
    ///
    /// Each transaction takes the principal's role and name and loses them at its end, so this works behind a pooler.
    /// Most calls cost no further round trip. A call that the role may not make throws `permissionDenied`. The login
    /// must be a member of `sluice_face`, or own the ledger.
    ///
    /// Concurrent submissions of one job share calls if they use the same copy, so keep a copy while it is in use.
    public func acting(for principal: Principal) -> JobLedger { JobLedger(self, for: principal) }
}
