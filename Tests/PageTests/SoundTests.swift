import Conversion
import Foundation
import Ledger
import Testing

@testable import API
@testable import Page

/// What of a job can be heard, and the jobs that make it.
@Suite struct SoundTests {
    /// A job that has converted an AIFF of this length to MP3.
    private func story(
        seconds: Int64 = 240,
        _ recipe: String = #""damage": "conceal""#,
        location: String = "in:a.aiff"
    ) -> JobStory {
        var story = JobStory.blank
        story.summary = Material.job(12, location, .completed)
        story.summary.queue = "default"
        (story.summary.digest, story.summary.bytes) = (String(repeating: "0", count: 64), 4_000)
        story.recipe =
            #"{"version": 2, "sources": [{"location": "\#(location)"}], "outputs": [{"location": "out:a.mp3"}], \#(recipe)}"#
        var attempt = AttemptRecord.blank
        attempt.outcome = .completed
        let format = ResolvedFormat(
            container: .mp3,
            codec: .mp3,
            sampleRateHz: 44_100,
            channelCount: 2,
            layout: .stereo,
            bitDepth: 32,
            sampleKind: .float,
            endianness: .little
        )
        attempt.facts.report = ConversionReport(
            source: .init(
                track: 0,
                codec: "pcm_s24be",
                sampleRateHz: 96_000,
                channelCount: 2,
                frames: seconds * 96_000
            ),
            format: format,
            plannedFrames: seconds * 44_100,
            writtenFrames: seconds * 44_100,
            decodedFrames: seconds * 44_100,
            bytes: 4_000,
            damage: DamageReport(frames: 10, stretchCount: 1, stretches: [.init(start: 96_000, frames: 10, code: "x")]),
            isVerified: false,
            digest: nil,
            lostTags: []
        )
        story.attempts = [attempt]
        return story
    }

    /// A job that has made the excerpt of a side.
    private func made(_ plan: ExcerptPlan, _ side: ExcerptPlan.Side, _ number: Int64) throws -> JobStory {
        var story = JobStory.blank
        story.summary = Material.job(number, "in:a.aiff", .completed)
        (story.summary.queue, story.recipe) = (ExcerptPlan.queue, try plan.recipe(of: side).json())
        (story.summary.digest, story.summary.bytes) = ("00", 9_000_000)
        story.summary.further = [PublishedFile(digest: "00", bytes: 90_000)]
        return story
    }

    private func view(_ story: JobStory, _ excerpts: JobExcerpts?, mayPrepare: Bool = true) -> PageContent {
        var view = JobView(story: story, now: Material.now, downloads: ["x"])
        (view.excerpts, view.mayPrepare) = (excerpts, mayPrepare)
        return view.content
    }

    @Test func `the verdict of a spec is shown`() {
        var told = story()
        let loudness = SpecReport.Measured(rule: "rms", value: -20.1, unit: "dBFS")
        told.attempts[0].facts.report?.spec = SpecReport(spec: "acx", passes: true, measured: [loudness])
        #expect(view(told, nil).main.text.contains("<p>acx: accepted, RMS -20.1 dBFS</p>"))
    }

    @Test func `source and output are heard at the same time and rate`() throws {
        let plan = try #require(ExcerptPlan(story(), base: "x:excerpts/"))
        #expect(plan.sides == [.source, .output] && plan.parts == 1 && plan.isAligned)
        for (side, location) in [(ExcerptPlan.Side.source, "in:a.aiff"), (.output, "out:a.mp3")] {
            let recipe = try plan.recipe(of: side).json()
            let again = try Recipe(json: recipe)
            try again.validate()
            #expect(again.sources == [Recipe.Source(location: location)] && again.damage == .conceal && again.dropTags)
            #expect(again.outputs.map(\.format?.sampleRateHz) == [48_000, nil])
            #expect(again.outputs.allSatisfy { $0.location.hasPrefix("x:excerpts/") && $0.onConflict == .replace })
            #expect(again.outputs[1].waveform != nil)
            #expect(again.limits?.outputBytes != nil && again.limits?.wallSeconds != nil)
        }
        #expect(plan.location(of: .source) != plan.location(of: .output))
    }

    @Test func `an excerpt is found again until its file is another one`() throws {
        let first = try #require(ExcerptPlan(story(), base: "x:excerpts/"))
        // Another job of the same source.
        var other = story(seconds: 240, #""verify": true"#)
        (other.summary.job, other.summary.digest) = (77, String(repeating: "1", count: 64))
        let second = try #require(ExcerptPlan(other, base: "x:excerpts/"))
        #expect(first.location(of: .source) == second.location(of: .source))
        #expect(first.location(of: .output) != second.location(of: .output))
        let longer = try #require(ExcerptPlan(story(seconds: 241), base: "x:excerpts/"))
        #expect(first.location(of: .source) != longer.location(of: .source))
        let elsewhere = try #require(ExcerptPlan(story(location: "in:b.aiff"), base: "x:excerpts/"))
        #expect(first.location(of: .source) != elsewhere.location(of: .source))
    }

    @Test func `a long sound is heard in parts`() throws {
        func ranges(_ seconds: Int64, _ part: Int) throws -> [String] {
            let plan = try #require(ExcerptPlan(story(seconds: seconds), base: "x:excerpts/", part: part))
            let (source, output) = (plan.recipe(of: .source).sources[0], plan.recipe(of: .output).sources[0])
            #expect(source.ranges == output.ranges)
            return source.ranges.map { "\($0)" } + ["\(plan.part + 1)/\(plan.parts)"]
        }
        func range(_ start: Int64, _ end: Int64?) throws -> String {
            let end = end.map { MediaTime(value: $0, timescale: 1) } ?? .positiveInfinity
            return "\(try MediaTimeRange(start: MediaTime(value: start, timescale: 1), end: end))"
        }
        #expect(try ranges(630, 0) == ["1/1"])
        #expect(try ranges(3_600, 0) == [range(0, 600), "1/6"])
        #expect(try ranges(3_600, 5) == [range(3_000, nil), "6/6"])
        // The nearest one.
        #expect(try ranges(3_600, 99) == [range(3_000, nil), "6/6"] && ranges(3_600, -7) == [range(0, 600), "1/6"])
        let plan = try #require(ExcerptPlan(story(seconds: 3_600), base: "x:"))
        #expect(plan.hasLength)
    }

    @Test func `a sound that failed is heard as far as it was read`() throws {
        var failed = story()
        failed.summary.state = .failed
        failed.attempts[0].outcome = .failed
        failed.attempts[0].facts.report = nil
        let whole = try #require(ExcerptPlan(failed, base: "x:excerpts/"))
        #expect(whole.sides == [.source] && whole.recipe(of: .source).sources[0].ranges.isEmpty)
        // Of a sound of unknown length, the budget ends it.
        #expect(whole.recipe(of: .source).limits?.decodedSeconds != nil)
        failed.attempts[0].failure = Failure(
            code: "truncated",
            kind: .permanent,
            stage: "decode",
            message: "",
            position: MediaTime(value: 700, timescale: 1)
        )
        let part = try #require(ExcerptPlan(failed, base: "x:excerpts/", part: 1))
        let range = try MediaTimeRange(
            start: MediaTime(value: 600, timescale: 1),
            end: MediaTime(value: 700, timescale: 1)
        )
        #expect(part.recipe(of: .source).sources[0].ranges == [range])
    }

    @Test func `what is at other times is not compared`() throws {
        func sides(_ recipe: String, _ sources: String = #"[{"location": "in:a.aiff"}]"#) -> [ExcerptPlan.Side]? {
            var story = story()
            story.recipe =
                #"{"version": 4, "sources": \#(sources), "outputs": [{"location": "out:a.mp3"}], \#(recipe)}"#
            return ExcerptPlan(story, base: "x:excerpts/")?.sides
        }
        #expect(sides(#""damage": "skip""#) == [.source])
        #expect(sides(#""verify": true"#, #"[{"location": "in:a.aiff", "ranges": [{"from": "5"}]}]"#) == [.source])
        let mix = #""timeline": {"tracks": [{"pieces": [{"source": "a"}, {"source": "b"}]}]}"#
        let two = #"[{"location": "in:a.aiff", "name": "a"}, {"location": "in:b.aiff", "name": "b"}]"#
        #expect(sides(mix, two) == [.output])
        // An excerpt is heard itself.
        let plan = try #require(ExcerptPlan(story(), base: "x:excerpts/"))
        #expect(ExcerptPlan(try made(plan, .source, 57), base: "x:excerpts/") == nil)
        // What a tenant's jobs may not read.
        #expect(ExcerptPlan(story(), base: "x:excerpts/", reads: ["in:"])?.sides == [.source])
        #expect(ExcerptPlan(story(), base: "x:excerpts/", reads: ["other:"]) == nil)
    }

    @Test func `those who may submit have the sound prepared`() throws {
        let plan = try #require(ExcerptPlan(story(), base: "x:excerpts/"))
        let text = view(story(), JobExcerpts(plan)).main.text
        #expect(text.contains("action=\"/jobs/12/excerpts\"") && text.contains("Prepare the sound"))
        #expect(text.contains("the source and the output") && !text.contains("<audio"))
        let other = view(story(), JobExcerpts(plan), mayPrepare: false).main.text
        #expect(!other.contains("<form") && other.contains("Only submitters can prepare the sound."))
        // Where a coordinator offers none, nothing is said of it.
        #expect(!view(story(), nil).main.text.contains("id=\"listen\""))
    }

    @Test func `excerpts are drawn and played`() throws {
        var story = story()
        story.attempts[0].facts.report?.loudness = LoudnessChange(
            targetLUFS: -16,
            ceilingDBTP: -1,
            measured: LoudnessReport(integratedLUFS: -18.4),
            gainDB: 2.4,
            limitedFrames: 0,
            largestReductionDB: 0,
            reachedLUFS: -16
        )
        let plan = try #require(ExcerptPlan(story, base: "x:excerpts/"))
        var excerpts = JobExcerpts(plan)
        // Another one was made before.
        excerpts.take(from: [try made(plan, .source, 57), try made(plan, .output, 58), try made(plan, .source, 55)])
        let content = view(story, excerpts)
        let text = content.main.text
        for part in [
            "src=\"/jobs/57/outputs/1\" aria-label=\"Source\"", "src=\"/jobs/58/outputs/1\" aria-label=\"Output\"",
            "data-peaks=\"/jobs/57/outputs/2\" data-side=\"source\"", "data-key=\"57.58\"", " data-gain=\"2.40\"",
            "<small>-18.4 LUFS</small>", "<small>-16.0 LUFS</small>", "Prepare it again",
            // The damage can be gone to.
            " data-seek=\"1.000\"",
        ] { #expect(text.contains(part), "\(part)") }
        #expect(content.script == "sound" && content.live.map(\.value) == ["12,57,58"])
        let document = try Material.frame().document(content).text
        #expect(MarkupCheck(document).mistakes == [])
        let sheet = try #require(PageAsset.all.first { $0.name == "page" }).text
        let known = Set(sheet.matches(of: /\.([a-z][a-z-]*)/).map { String($0.output.1) })
        #expect(MarkupCheck(document).classes.subtracting(known) == [])
    }

    @Test func `chapters of the recipe can be gone to`() throws {
        func text(_ more: String, _ side: ExcerptPlan.Side?) throws -> String {
            let chapters = #"[{"at": "0"}, {"at": "1:02.5", "title": "<b>Tide"}]"#
            var story = story()
            story.recipe =
                #"{"version": 4, "sources": [{"location": "in:a.aiff"\#(more)}], "chapters": \#(chapters), "#
                + #""outputs": [{"location": "out:a.mp3"}]}"#
            let plan = try #require(ExcerptPlan(story, base: "x:excerpts/"))
            var excerpts = JobExcerpts(plan)
            if let side { excerpts.take(from: [try made(plan, side, 57)]) }
            return view(story, excerpts).main.text
        }
        let time = MediaTime(value: 125, timescale: 2).short
        let row = "<td class=\"n t\" data-seek=\"62.500\" data-kind=\"chapter\">\(time)</td>"
        for side in ExcerptPlan.Side.allCases { #expect(try text("", side).contains(row)) }
        #expect(try text("", .output).contains("<bdi>&lt;b&gt;Tide</bdi>"))
        // The output has other times than the source.
        let other = try text(#", "ranges": [{"from": "5"}]"#, .source)
        #expect(other.contains(">\(time)</td>") && !other.contains("data-kind"))
        #expect(!(try text("", nil).contains("data-kind")))
    }

    @Test func `an excerpt that is not there says why`() throws {
        let plan = try #require(ExcerptPlan(story(), base: "x:excerpts/"))
        var waiting = try made(plan, .source, 57)
        (waiting.summary.state, waiting.summary.digest) = (.waiting, nil)
        (waiting.waitingFor, waiting.needs) = (.unable, ["root:in", "root:x"])
        var failed = try made(plan, .output, 58)
        (failed.summary.state, failed.summary.digest) = (.failed, nil)
        var attempt = AttemptRecord.blank
        attempt.failure = Failure(code: "x", kind: .permanent, stage: "open", message: "<b>it</b> is gone")
        failed.attempts = [attempt]
        var excerpts = JobExcerpts(plan)
        excerpts.take(from: [waiting, failed])
        #expect(excerpts.missing(["x"]) == [.output] && excerpts.jobs == [57, 58])
        #expect(excerpts.wanted(["x"], again: false) == [plan.recipe(of: .output)])
        let text = view(story(), excerpts).main.text
        #expect(text.contains("The source is being prepared by <a href=\"/jobs/57\">job 57</a>"))
        #expect(text.contains("It waits: no running worker has root:in, root:x."))
        #expect(text.contains("The output is not available: &lt;b&gt;it&lt;/b&gt; is gone."))
        #expect(text.contains("A worker makes a copy of the output that") && !text.contains("data-seek"))
    }

    @Test func `another recipe at the place of an excerpt is not heard`() throws {
        let plan = try #require(ExcerptPlan(story(seconds: 3_600), base: "x:excerpts/"))
        // A later job of a person who wants another sound to be heard as the source, or its peaks to be seen.
        var forged = try made(plan, .source, 60)
        forged.recipe = forged.recipe.replacing("in:a.aiff", with: "in:other.aiff")
        var peaks = try made(plan, .source, 61)
        var recipe = try #require(plan.wholeRecipe)
        recipe.sources[0].location = "in:other.aiff"
        peaks.recipe = try recipe.json()
        var excerpts = JobExcerpts(plan)
        excerpts.take(from: [forged, peaks])
        #expect(excerpts.found.isEmpty && excerpts.whole == nil && excerpts.missing(["x"]) == plan.sides)
        excerpts.take(from: [try made(plan, .source, 57), forged, peaks])
        #expect(excerpts.jobs == [57])
        // An excerpt is found by what its job has, whose times are written as people write them.
        var failed = story()
        (failed.summary.state, failed.attempts[0].outcome, failed.attempts[0].facts.report) = (.failed, .failed, nil)
        failed.attempts[0].failure = Failure(
            code: "truncated",
            kind: .permanent,
            stage: "decode",
            message: "",
            position: MediaTime(value: 30_000_001, timescale: 44_100)
        )
        let part = try #require(ExcerptPlan(failed, base: "x:excerpts/", part: 1))
        excerpts = JobExcerpts(part)
        excerpts.take(from: [try made(part, .source, 62)])
        #expect(excerpts.jobs == [62])
    }

    @Test func `a sound of unknown length that is too long is not offered again`() throws {
        var cut = story()
        cut.recipe =
            #"{"version": 4, "sources": [{"location": "in:a.aiff", "ranges": [{"from": "5"}]}], "#
            + #""outputs": [{"location": "out:a.mp3"}]}"#
        let plan = try #require(ExcerptPlan(cut, base: "x:excerpts/"))
        #expect(plan.sides == [.source] && !plan.hasLength)
        var excerpts = JobExcerpts(plan)
        let words = "The job does not state its length; it may have up to 15 minutes."
        #expect(view(cut, excerpts).main.text.contains(words))
        func text(_ code: FailureCode) throws -> String {
            var failed = try made(plan, .source, 57)
            (failed.summary.state, failed.summary.digest) = (.failed, nil)
            var attempt = AttemptRecord.blank
            attempt.failure = Failure(code: code.rawValue, kind: .permanent, stage: "decode", message: "no")
            failed.attempts = [attempt]
            excerpts.take(from: [failed])
            return view(cut, excerpts).main.text
        }
        #expect(try text(.sourceNotFound).contains("Prepare the sound"))
        let long = try text(.decodedSecondsExceeded)
        #expect(long.contains("can be prepared if it has up to 15 minutes."))
        #expect(!long.contains("action=\"/jobs/12/excerpts\""))
    }

    @Test func `a long sound has a way to its other parts`() throws {
        let plan = try #require(ExcerptPlan(story(seconds: 3_600), base: "x:excerpts/", part: 1))
        var excerpts = JobExcerpts(plan)
        #expect(excerpts.wanted(["x"], again: false).count == 3)
        var whole = JobStory.blank
        whole.summary = Material.job(60, "in:a.aiff", .completed)
        let recipe = try #require(plan.wholeRecipe)
        try recipe.validate()
        #expect(recipe.outputs.count == 1 && recipe.outputs[0].waveform?.samplesPerPixel == 172_800)
        (whole.recipe, whole.summary.digest, whole.summary.bytes) = (try recipe.json(), "00", 4_000)
        excerpts.take(from: [try made(plan, .source, 57), whole])
        // The whole is made once, and not with each part.
        let next = try #require(ExcerptPlan(story(seconds: 3_600), base: "x:excerpts/", part: 2))
        #expect(next.wholeLocation == plan.wholeLocation && next.location(of: .source) != plan.location(of: .source))
        #expect(ExcerptPlan(story(), base: "x:")?.wholeLocation == nil)
        #expect(excerpts.wanted(["x"], again: false) == [plan.recipe(of: .output)])
        // Its file may be gone, or that of a source that was replaced.
        #expect(excerpts.wanted(["x"], again: true) == plan.sides.map(plan.recipe(of:)) + [recipe])
        var failed = whole
        (failed.summary.job, failed.summary.state, failed.summary.digest) = (61, .failed, nil)
        excerpts.take(from: [try made(plan, .source, 57), whole, failed])
        #expect(excerpts.wanted(["x"], again: false) == [plan.recipe(of: .output)])
        #expect(excerpts.wanted(["x"], again: true).last == recipe)
        failed.summary.state = .waiting
        excerpts.take(from: [whole, failed])
        #expect(!excerpts.wanted(["x"], again: true).contains(recipe))
        excerpts.take(from: [try made(plan, .source, 57), whole])
        let text = view(story(seconds: 3_600), excerpts).main.text
        // The player stays when the waveform of the whole comes.
        #expect(text.contains("data-peaks=\"/jobs/60/outputs/1\" data-side=\"whole\""))
        #expect(text.contains("id=\"whole\" class=\"wave\" data-key=\"60\""))
        #expect(text.contains("id=\"heard\" data-key=\"57\""))
        let sheet = try #require(PageAsset.all.first { $0.name == "page" }).text
        #expect(text.contains("class=\"ruler\"") && sheet.contains(".ruler{"))
        #expect(text.contains("href=\"/jobs/12?part=1#listen\"") && text.contains("href=\"/jobs/12?part=3#listen\""))
        #expect(text.contains("Part 2 of 6, 10:00 to 20:00") && text.contains("data-start=\"600\" data-part=\"1\""))
        #expect(text.contains("name=\"part\" value=\"2\""))
    }

    @Test func `a tenant's excerpts go where it may write`() {
        func places(_ destination: String?, _ writes: [String]?) -> [String]? {
            var tenant = Tenant.blank
            (tenant.name, tenant.limits.destination, tenant.limits.writes) = ("acme", destination, writes)
            return Destinations.places(of: tenant)
        }
        #expect(places(nil, nil) == nil && places(nil, ["out:a/"]) == ["out:a/"])
        let template = "out:{tenant}/{dir}/{stem}.{ext}"
        #expect(places(template, nil) == ["out:acme/"])
        #expect(places(template, ["out:", "out:acme/b/", "x:"]) == ["out:acme/", "out:acme/b/"])
    }
}
