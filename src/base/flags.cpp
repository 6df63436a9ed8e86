#include "base/flags.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace twinyard {
namespace {

std::unexpected<Error> unknown(std::string_view word, std::initializer_list<Flag> flags) {
    std::vector<std::string_view> names;
    for (const Flag& flag : flags)
        names.push_back(flag.name);
    return fail(ErrorCode::InvalidArgument,
                "unknown option '" + printable(word, 80) + "'" + did_you_mean(word, names));
}

}  // namespace

Status parse_flags(std::span<const char* const> args, std::initializer_list<Flag> flags) {
    for (std::size_t at = 0; at < args.size(); ++at) {
        const std::string_view word = args[at];
        const std::size_t equals = word.find('=');
        const std::string_view name = word.substr(0, equals);
        const Flag* flag = std::ranges::find(flags, name, &Flag::name);
        if (flag == flags.end()) return unknown(word, flags);
        if (flag->given != nullptr) {
            if (equals != std::string_view::npos) {
                return fail(ErrorCode::InvalidArgument, std::string(name) + " takes no value");
            }
            *flag->given = true;
        } else if (equals != std::string_view::npos) {
            *flag->value = word.substr(equals + 1);
        } else if (at + 1 < args.size()) {
            *flag->value = args[++at];
        } else {
            return fail(ErrorCode::InvalidArgument, std::string(name) + " needs a value");
        }
    }
    return {};
}

}  // namespace twinyard
