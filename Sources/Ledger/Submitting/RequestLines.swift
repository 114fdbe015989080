import FoundationEssentials

/// Writes jobs as the API takes them: one JSON object for each.
package struct RequestLines {
    private var recipeText = RecipeText()

    package init() {}

    /// The job without an end of line. Throws only for a recipe that cannot be encoded as JSON.
    package mutating func line(_ request: JobRequest) throws -> String {
        var text = "{\"recipe\":"
        text += try recipeText.json(request.recipe)
        if let stamp = request.stamp {
            text += ",\"stamp\":{\"bytes\":\(stamp.bytes),\"modified\":\(stamp.modified)}"
        }
        if let cost = request.cost { text += ",\"cost\":\(cost)" }
        if let attempts = request.maxAttempts { text += ",\"maxAttempts\":\(attempts)" }
        if let time = request.runAt {
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            text += ",\"runAt\":\"\(time.formatted(style))\""
        }
        if !request.labels.isEmpty {
            text += ",\"labels\":"
            text.appendJSON(request.labels)
        }
        if !request.needs.isEmpty {
            text += ",\"needs\":["
            for (place, need) in request.needs.enumerated() {
                if place > 0 { text += "," }
                text.appendJSON(need)
            }
            text += "]"
        }
        return text + "}"
    }
}
