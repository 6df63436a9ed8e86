#include "slurm/batch_script.h"

#include <algorithm>

#include "base/text.h"
#include "slurm/errors.h"

namespace twinyard::slurm {

namespace {

constexpr std::string_view kMark = "#SBATCH";

/// Splits the text after the mark as a shell would, without expansions.
class ArgumentReader {
  public:
    explicit ArgumentReader(std::string_view text) : rest_(text) {}

    Result<std::vector<std::string>> read() {
        std::vector<std::string> arguments;
        while (true) {
            rest_ = rest_.substr(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
            if (rest_.empty() || rest_.front() == '#') return arguments;
            TRY(std::string argument, one());
            arguments.push_back(std::move(argument));
        }
    }

  private:
    char next() {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }

    Result<std::string> one() {
        std::string argument;
        char quote = 0;
        while (!rest_.empty()) {
            const char c = next();
            if (quote == 0 && is_space(c)) return argument;
            if (c == quote) {
                quote = 0;
            } else if (quote == 0 && (c == '"' || c == '\'')) {
                quote = c;
            } else if (c == '\\' && quote != '\'' && !rest_.empty()) {
                argument += next();
            } else {
                argument += c;
            }
        }
        if (quote != 0) return fail(ErrorCode::InvalidArgument, "a quote is not closed");
        return argument;
    }

    std::string_view rest_;
};

std::string_view take_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line;
}

bool is_directive(std::string_view line) {
    if (!line.starts_with(kMark)) return false;
    return line.size() == kMark.size() || is_space(line[kMark.size()]);
}

}  // namespace

Status check_batch_script(std::string_view script) {
    const auto bad = [](std::string text) {
        return fail(ErrorCode::InvalidArgument, std::move(text));
    };
    if (script.empty()) return refuse(Refusal::ScriptEmpty);
    if (script.size() > kScriptMax) return refuse(Refusal::PathTooLong);
    if (trim(script).empty()) return bad("Batch script contains only whitespace!");
    if (!script.starts_with("#!")) {
        return bad(
            "This does not look like a batch script.  The first\n"
            "line must start with #! followed by the path to an interpreter.\n"
            "For instance: #!/bin/sh");
    }
    if (script.find('\0') != std::string_view::npos) {
        return bad(
            "The Slurm controller does not allow scripts that\n"
            "contain a NULL character '\\0'.");
    }
    if (script.find("\r\n") != std::string_view::npos) {
        return bad(
            "Batch script contains DOS line breaks (\\r\\n)\n"
            "instead of expected UNIX line breaks (\\n).");
    }
    return {};
}

Result<std::vector<Directive>> batch_directives(std::string_view script) {
    std::vector<Directive> directives;
    std::size_t number = 0;
    while (!script.empty()) {
        const std::string_view line = take_line(script);
        ++number;
        const std::string_view content = trim(line);
        if (!content.empty() && content.front() != '#') break;
        if (!is_directive(line)) continue;
        Result<std::vector<std::string>> arguments =
            ArgumentReader(line.substr(kMark.size())).read();
        if (!arguments) {
            return fail(std::move(arguments).error().in("line " + std::to_string(number)));
        }
        if (!arguments->empty()) directives.push_back({number, *std::move(arguments)});
    }
    return directives;
}

std::string wrap_script(std::string_view command) {
    std::string script = "#!/bin/sh\n# Made by sbatch --wrap.\n\n";
    script += command;
    script += '\n';
    return script;
}

}  // namespace twinyard::slurm
