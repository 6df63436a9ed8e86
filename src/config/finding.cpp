#include "config/finding.h"

#include <algorithm>

namespace twinyard::config {

namespace {

bool stops(Severity severity) {
    return severity == Severity::Error || severity == Severity::Refused;
}

}  // namespace

std::string_view to_string(Severity severity) {
    switch (severity) {
        case Severity::Error:
            return "error";
        case Severity::Refused:
            return "refused";
        case Severity::NoEffect:
            return "no effect";
        case Severity::Deviation:
            return "deviation";
        case Severity::Info:
            return "info";
    }
    return "unknown";
}

std::string to_string(const Finding& finding) {
    std::string place = finding.file;
    if (finding.line > 0) place += ":" + std::to_string(finding.line);
    return place + ": " + finding.text;
}

void Findings::add(Finding finding) {
    if (all_.size() < kFindingsMax) {
        all_.push_back(std::move(finding));
        return;
    }
    unusable_beyond_limit_ |= stops(finding.severity);
    if (all_.size() > kFindingsMax) return;
    all_.push_back({finding.file, 0, Severity::Info, "more findings are left out"});
}

bool Findings::has(Severity severity) const {
    return std::ranges::find(all_, severity, &Finding::severity) != all_.end();
}

bool Findings::usable() const {
    return !unusable_beyond_limit_ && std::ranges::none_of(all_, stops, &Finding::severity);
}

Status Findings::status() const {
    if (usable()) return {};
    const auto first = std::ranges::find_if(all_, stops, &Finding::severity);
    const auto count = std::ranges::count_if(all_, stops, &Finding::severity);
    if (first == all_.end()) return fail(ErrorCode::InvalidArgument, "too many findings");
    std::string text = to_string(*first);
    if (count > 1) text += " (and " + std::to_string(count - 1) + " more)";
    return fail(ErrorCode::InvalidArgument, std::move(text));
}

}  // namespace twinyard::config
