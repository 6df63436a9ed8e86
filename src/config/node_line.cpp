#include "config/node_line.h"

#include <array>

namespace twinyard::config {

namespace {

using N = NodeLine;
using Row = Entry<NodeLine>;

constexpr std::string_view kNoSpecialised = "no CPUs or memory are set aside for the system yet";
constexpr std::string_view kOwnNames = "an agent says itself on which host it runs";
constexpr std::string_view kNoPower = "nodes are never powered up or down";

Result<std::int64_t> parse_count(std::string_view text) {
    constexpr std::string_view kUnits = "KMGTP";
    const std::size_t unit =
        text.empty() ? std::string_view::npos : kUnits.find(to_upper(text.back()));
    const bool has_unit = unit != std::string_view::npos;
    if (has_unit) text.remove_suffix(1);
    const std::int64_t factor = has_unit ? std::int64_t{1} << (10 * (unit + 1)) : 1;
    TRY(const std::int64_t count,
        parse_number<std::int64_t>(text, 0, (std::int64_t{1} << 62) / factor));
    return count * factor;
}

bool is_word(std::string_view text) {
    for (const char c : text) {
        const char low = to_lower(c);
        const bool fits = is_digit(c) || (low >= 'a' && low <= 'z') || c == '_' || c == '-' ||
                          c == '.' || c == '/';
        if (!fits) return false;
    }
    return !text.empty() && text.front() != '-';
}

Result<GresItem> parse_gres_item(std::string_view text) {
    const auto bad = [&](std::string_view why) {
        return fail(ErrorCode::InvalidArgument,
                    "'" + printable(text, 60) + "': " + std::string(why));
    };
    std::vector<std::string_view> parts = split(text, ':');
    std::erase_if(parts, [](std::string_view part) { return equal_nocase(part, "no_consume"); });
    if (parts.empty() || !is_word(parts[0])) return bad("a resource name is expected first");
    GresItem item{std::string(parts[0]), {}, 1};
    if (parts.size() > 3) return bad("name:type:count is expected");
    if (parts.size() == 1) return item;
    const bool ends_in_count =
        !parts.back().empty() && is_digit(parts.back()[0]) && parse_count(parts.back()).has_value();
    if (parts.size() == 3 && !ends_in_count) return bad("the count at its end is not a number");
    if (ends_in_count) item.count = *parse_count(parts.back());
    if (parts.size() == 3 || !ends_in_count) {
        if (!is_word(parts[1])) return bad("the type is not a word");
        item.type = parts[1];
    }
    return item;
}

Status set_gres(N& node, std::string_view text) {
    TRY(node.gres, parse_gres(text));
    return {};
}

Status set_state(N& node, std::string_view text) {
    TRY(node.state, parse_node_state(text));
    return {};
}

constexpr Row yes(std::string_view key, Row::Setter set) {
    return {key, Effect::Honoured, {}, {}, {}, set, nullptr};
}
constexpr Row no(std::string_view key, std::string_view why, Row::Setter set = nullptr) {
    return {key, Effect::NoEffect, why, {}, {}, set, nullptr};
}

constexpr std::int64_t kCountMax = 65533;
constexpr std::int64_t kMegabytesMax = std::int64_t{1} << 40;

constexpr auto kTable = std::to_array<Row>({
    yes("NodeName", set_text<&N::names_text>),
    yes("NodeAddr", set_text<&N::addresses_text>),
    no("NodeHostname", kOwnNames, set_text<&N::host_names_text>),
    no("BcastAddr", "sbcast is not built yet"),
    yes("Boards", set_number<&N::boards, 1, kCountMax>),
    no("CertToken", "agents join without a token of the file"),
    no("CoreSpecCount", kNoSpecialised, set_number<&N::core_spec_count, 0, kCountMax>),
    yes("CoresPerSocket", set_number<&N::cores_per_socket, 1, kCountMax>),
    no("CpuBind", "tasks are not bound to CPUs yet"),
    no("CpuSpecList", kNoSpecialised, set_text<&N::cpu_spec_list>),
    yes("CPUs", set_number<&N::cpus, 1, kCountMax>),
    yes("Feature", set_list<&N::features>),
    yes("Features", set_list<&N::features>),
    yes("Gres", set_gres),
    no("MemSpecLimit", kNoSpecialised, set_number<&N::mem_spec_limit_mb, 0, kMegabytesMax>),
    no("Parameters", "nodes have no such options"),
    no("Port", "agents are reached through their own connection"),
    yes("Procs", set_number<&N::cpus, 1, kCountMax>),
    yes("RealMemory", set_number<&N::real_memory_mb, 1, kMegabytesMax>),
    yes("Reason", set_text<&N::reason>),
    no("RestrictedCoresPerGPU", "no cores are kept for GPUs yet"),
    no("ResumeTimeout", kNoPower),
    yes("Sockets", set_number<&N::sockets, 1, kCountMax>),
    yes("SocketsPerBoard", set_number<&N::sockets_per_board, 1, kCountMax>),
    yes("State", set_state),
    no("SuspendTime", kNoPower),
    no("SuspendTimeout", kNoPower),
    yes("ThreadsPerCore", set_number<&N::threads_per_core, 1, kCountMax>),
    no("TmpDisk",
       "space in temporary folders is not counted",
       set_number<&N::tmp_disk_mb, 0, kMegabytesMax>),
    no("Topology", "placement does not look at the network yet"),
    yes("Weight", set_number<&N::weight, 0, 0xfffffffe>),
});

}  // namespace

Result<std::vector<GresItem>> parse_gres(std::string_view text) {
    std::vector<GresItem> items;
    if (equal_nocase(trim(text), "(null)") || equal_nocase(trim(text), "none")) return items;
    for (const std::string_view part : split_list(text)) {
        TRY(const GresItem item, parse_gres_item(part));
        items.push_back(item);
    }
    return items;
}

Result<NodeState> parse_node_state(std::string_view text) {
    struct Word {
        std::string_view name;
        NodeState state;
    };
    static constexpr auto kWords = std::to_array<Word>({{"UNKNOWN", NodeState::Unknown},
                                                        {"IDLE", NodeState::Unknown},
                                                        {"DOWN", NodeState::Down},
                                                        {"DRAIN", NodeState::Drain},
                                                        {"FAIL", NodeState::Fail},
                                                        {"FAILING", NodeState::Fail},
                                                        {"FUTURE", NodeState::Future},
                                                        {"CLOUD", NodeState::Cloud},
                                                        {"EXTERNAL", NodeState::External}});
    std::vector<std::string_view> names;
    for (const Word& word : kWords) {
        if (equal_nocase(word.name, text)) return word.state;
        names.push_back(word.name);
    }
    return fail(ErrorCode::InvalidArgument,
                "unknown node state '" + printable(text, 40) + "'" + did_you_mean(text, names));
}

std::span<const Entry<NodeLine>> node_table() {
    return kTable;
}

}  // namespace twinyard::config
