#include "config/check_config.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "config/slurm_conf.h"
#include "config/twinyard_yaml.h"

namespace twinyard::config {

namespace {

constexpr std::array kShown = {
    Severity::Error, Severity::Refused, Severity::Deviation, Severity::NoEffect, Severity::Info};

std::string_view heading(Severity severity) {
    switch (severity) {
        case Severity::Error:
            return "Errors";
        case Severity::Refused:
            return "Refused: without their effect they would do harm";
        case Severity::Deviation:
            return "Taken otherwise than by Slurm, on purpose";
        case Severity::NoEffect:
            return "Accepted without effect";
        case Severity::Info:
            return "Notes";
    }
    return "";
}

void check_yaml(const std::string& path, Findings& findings) {
    const Result<std::string> text = read_file(path);
    if (text) {
        static_cast<void>(read_twinyard_yaml(*text, path, findings));
    } else if (text.error().code() != ErrorCode::NotFound) {
        findings.add({path, 0, Severity::Error, text.error().message()});
    }
}

}  // namespace

Report check(const std::string& path) {
    Reading reading = read(path);
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    check_yaml(folder + "twinyard.yaml", reading.findings);
    Report report;
    report.file = path;
    report.findings = reading.findings.all();
    report.usable = reading.findings.usable();
    report.nodes = reading.conf.node_count();
    report.partitions = reading.conf.partitions.size();
    for (const auto& [key, _] : reading.conf.given) {
        const auto* row = find_entry(parameter_table(), key);
        report.honoured += row != nullptr && row->effect == Effect::Honoured ? 1 : 0;
    }
    std::ranges::stable_sort(report.findings, {}, [](const Finding& finding) {
        return std::tuple(finding.file, finding.line);
    });
    return report;
}

std::string render(const Report& report) {
    std::string out;
    for (const Severity severity : kShown) {
        bool first = true;
        for (const Finding& finding : report.findings) {
            if (finding.severity != severity) continue;
            if (first) out += std::string(heading(severity)) + ":\n";
            first = false;
            out += "  " + to_string(finding) + "\n";
        }
    }
    out += report.file + ": " + std::to_string(report.nodes) + " nodes, " +
           std::to_string(report.partitions) + " partitions, " + std::to_string(report.honoured) +
           " parameters honoured; " + (report.usable ? "can be used" : "cannot be used") + "\n";
    return out;
}

}  // namespace twinyard::config
