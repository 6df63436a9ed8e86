#include "sim/options.h"

#include <charconv>
#include <string>
#include <string_view>

#include "sim/runner.h"

namespace twinyard::sim {
namespace {

template <class Number>
Result<Number> number_in(std::string_view name, std::string_view text) {
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return fail(ErrorCode::InvalidArgument, std::string(name) + " needs a number");
    return value;
}

Result<PlantedBug> bug_named(std::string_view name) {
    for (const PlantedBugName& bug : planted_bugs()) {
        if (bug.name == name) return bug.bug;
    }
    return fail(ErrorCode::InvalidArgument, "there is no planted bug " + std::string(name));
}

Status take_option(std::string_view name, std::string_view value, Options& options) {
    if (name == "--seed") {
        TRY(options.seed, number_in<std::uint64_t>(name, value));
    } else if (name == "--minutes") {
        TRY(options.minutes, number_in<std::uint32_t>(name, value));
    } else if (name == "--bug") {
        TRY(options.bug, bug_named(value));
    } else {
        return fail(ErrorCode::InvalidArgument, "unknown option " + std::string(name));
    }
    return {};
}

}  // namespace

Result<Options> parse_options(std::span<const char* const> args) {
    Options options;
    for (std::size_t i = 0; i < args.size(); ++i) {
        std::string_view name(args[i]);
        if (name == "--help" || name == "-h") {
            options.help = true;
            return options;
        }
        std::string_view value;
        if (const auto equals = name.find('='); equals != std::string_view::npos) {
            value = name.substr(equals + 1);
            name = name.substr(0, equals);
        } else if (i + 1 < args.size()) {
            value = args[++i];
        }
        TRY_STATUS(take_option(name, value, options));
    }
    return options;
}

}  // namespace twinyard::sim
