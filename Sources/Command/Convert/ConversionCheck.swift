import Console
import Conversion
import Storage

extension FileConversion {
    /// Throws a `UsageError` if the recipe is invalid, also with what its lists of chapters say.
    func check() throws {
        // The same name for both is an obstacle.
        let places = Set(outputs)
        if inputs.contains(where: places.contains) { return }
        do throws(RecipeError) {
            try recipe.validate()
        } catch {
            throw UsageError(ofEdit: error) ?? UsageError(error, in: recipe)
        }
    }

    /// What would stop `run` before it begins, without writing or decoding anything; `nil` if nothing would. Pipes are not
    /// opened: that would wait for a writer.
    func obstacle() -> Failure? {
        do {
            var identities: [FileIdentity] = []
            for input in inputs where input != "-" {
                let facts = FileFacts.of(path: input, followingLinks: true)
                if let facts { identities.append(facts.identity) }
                let isOpened = facts.map { $0.kind == .file || $0.kind == .folder } ?? true
                if isOpened { _ = try SourceFile.open(input) }
            }
            for (index, output) in outputs.enumerated() where output != "-" {
                try OutputFile.check(output, onConflict: recipe.outputs[index].onConflict, sources: identities)
            }
        } catch {
            return Failure(of: error)
        }
        let covers = zip(recipe.sources, inputs).filter { $0.0.use == .cover }.map { $0.1 }
        for cover in covers {
            guard let problem = CoverFile.problem(cover, isChosen: true) else { continue }
            return Failure(.unknownContainer, at: .open, "the cover \(cover.printable) \(problem)")
        }
        return nil
    }
}
