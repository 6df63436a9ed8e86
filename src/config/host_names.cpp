#include "config/host_names.h"

#include <algorithm>

#include "base/hostlist.h"

namespace twinyard::config {

bool HostNames::expand(const ConfLine& at,
                       std::string_view what,
                       std::string_view text,
                       std::vector<std::string>& names) {
    Result<std::vector<std::string>> expanded =
        expand_hostlist(text, std::min(kHostlistMax, left_));
    if (!expanded) {
        std::string message = expanded.error().message();
        if (!what.empty()) message.insert(0, std::string(what) + ": ");
        findings_.add({at.file, at.line, Severity::Error, std::move(message)});
        return false;
    }
    left_ -= expanded->size();
    names = *std::move(expanded);
    return true;
}

bool HostNames::spend(const ConfLine& at, std::size_t names) {
    if (names <= left_) {
        left_ -= names;
        return true;
    }
    findings_.add({at.file, at.line, Severity::Error, "the node lists of the file are too long"});
    return false;
}

}  // namespace twinyard::config
