import Conversion
import Foundation
import TestSupport

@testable import PumpRoom
@testable import RoomProgram

/// Rooms that lie: programs that are not ours and speak the protocol over the same socket.
final class LyingBench: Sendable {
    let bench: SlotBench
    private let python: String

    init() throws {
        bench = try SlotBench()
        let run = try Run.program("python3", ["-c", "import sys; print(sys.executable)"]).checked()
        python = run.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A slot whose rooms run `script`, after a prelude with functions that speak the protocol.
    func slot(_ script: String, _ change: (inout RoomConfiguration) -> Void = { _ in }) throws -> RoomSlot {
        let path = try self.script(script)
        return bench.slot {
            $0.executable = path
            change(&$0)
        }
    }

    /// The path of a program that runs `script`.
    func script(_ script: String) throws -> String {
        let prelude = """
            #!\(python) -IS
            import json, os, socket, time
            wire = socket.socket(fileno=3)
            spent = {"cpuMicroseconds": 1, "peakBytes": 4096}
            starts = "\(bench.folder.path("starts"))"
            with open(starts, "a") as file: file.write(".")
            def say(message): wire.send(json.dumps(message).encode())
            rules = json.loads(wire.recv(1 << 18) or os._exit(0))["settle"]["_0"]
            level = {"sandbox": "off", "layers": [], "missing": [], "user": 0}
            def hello(): say({"hello": {"version": \(wireVersion), "build": "\(SluiceBuild.number)", "level": level}})
            def hear():
                data, descriptors, flags, address = socket.recv_fds(wire, 1 << 18, 8)
                if not data: os._exit(0)
                return json.loads(data)
            def begin():
                request = hear()
                job = (request.get("convert") or request["again"])["job"]
                say({"begun": {"job": job, "spent": spent}})
                return job
            def progress(job, frames, total=None):
                say({"progress": {"job": job, "_1": {"position": f"{frames}/8000", "frames": frames,
                    "totalFrames": total}}})
            def wrote(job, report): say({"wrote": {"job": job, "_1": report}})
            def convert(job, report): say({"converted": {"job": job, "_1": report, "_2": spent}})
            def fail(job, code, stage="decode", kind="permanent", **more):
                failure = {"code": code, "class": kind, "stage": stage, "message": "so it is said"} | more
                say({"failed": {"job": job, "_1": failure, "_2": spent}})
            report = json.loads('''\(try reportText())''')

            """
        let path = bench.folder.path("room")
        try Bytes.write(Array((prelude + script + "\ntime.sleep(60)\n").utf8), to: path)
        chmod(path, 0o755)
        return path
    }

    /// The report that a real room gives for the clip, as JSON.
    private func reportText() throws -> String {
        let work = try bench.short("report.wav")
        let report = try RecipeConversion(work.recipe).run(
            from: work.source.descriptor,
            to: work.destination.descriptor
        )
        return String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
    }

    var startCount: Int { (try? Bytes.read(bench.folder.path("starts")).count) ?? 0 }
}
