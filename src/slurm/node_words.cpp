// Node states as scontrol (base and flags) and sinfo (one word and a suffix) say them.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "slurm/words.h"

namespace twinyard::slurm {

namespace {

struct Word {
    std::string_view compact, long_word;
};

bool is_busy(const api::NodeRow& node) {
    return node.base_state == "ALLOCATED" || node.base_state == "MIXED" || node.completing;
}

/// One word for base state and flags together, as sinfo folds them.
Word word_of(const api::NodeRow& node) {
    if (node.down || node.base_state == "DOWN") return {"down", "down"};
    if (node.drain) return is_busy(node) ? Word{"drng", "draining"} : Word{"drain", "drained"};
    if (node.completing && node.base_state == "IDLE") return {"comp", "completing"};
    if (node.base_state == "ALLOCATED") return {"alloc", "allocated"};
    if (node.base_state == "MIXED") return {"mix", "mixed"};
    if (node.reserved) return {"resv", "reserved"};
    if (node.base_state == "IDLE" && node.planned) return {"plnd", "planned"};
    if (node.base_state == "IDLE") return {"idle", "idle"};
    return {"unk", "unknown"};
}

std::string_view suffix_of(const api::NodeRow& node) {
    if (node.no_respond) return "*";
    if (node.completing && node.base_state == "ALLOCATED") return "+";
    if (node.planned && node.base_state == "MIXED" && !node.drain && !node.down) return "-";
    return "";
}

// What `sinfo -t` takes; those that we never have match no node.
constexpr auto kWords = std::to_array<std::string_view>({
    "all",          "alloc",         "allocated",   "blocked", "cloud",         "comp",
    "completing",   "down",          "drain",       "drained", "draining",      "drng",
    "err",          "fail",          "failing",     "future",  "futr",          "idle",
    "inval",        "invalid_reg",   "maint",       "mix",     "mixed",         "no_respond",
    "npc",          "perfctrs",      "planned",     "plnd",    "power_down",    "power_up",
    "powered_down", "powering_down", "powering_up", "reboot",  "reboot_issued", "reboot_requested",
    "reserved",     "resv",          "unk",         "unknown",
});

}  // namespace

std::string node_state_flags(const api::NodeRow& node) {
    std::string text = node.base_state.empty() ? "UNKNOWN" : node.base_state;
    if (node.down) text = "DOWN";
    if (node.drain) text += "+DRAIN";
    if (node.completing) text += "+COMPLETING";
    if (node.planned) text += "+PLANNED";
    if (node.reserved) text += "+RESERVED";
    if (node.no_respond) text += "+NOT_RESPONDING";
    return text;
}

std::string node_state_compact(const api::NodeRow& node) {
    return std::string(word_of(node).compact).append(suffix_of(node));
}

std::string node_state_long(const api::NodeRow& node) {
    return std::string(word_of(node).long_word).append(suffix_of(node));
}

bool node_has_state(const api::NodeRow& node, std::string_view word) {
    const std::string asked = to_lower(word);
    if (asked == "all") return true;
    // `drain` means both kinds of it; the other words are what is printed.
    if (asked == "drain") return node.drain;
    if (asked == "no_respond") return node.no_respond;
    if (asked == "planned" || asked == "plnd") return node.planned;
    if (asked == "comp" || asked == "completing") return node.completing;
    if (asked == "down") return node.down || node.base_state == "DOWN";
    if (node.drain && node.base_state != "DOWN" && (asked == "drained" || asked == "draining")) {
        return asked == word_of(node).long_word;
    }
    const Word has = word_of(node);
    return asked == has.compact || asked == has.long_word;
}

bool is_node_state(std::string_view word) {
    return std::ranges::find(kWords, to_lower(word)) != kWords.end();
}

}  // namespace twinyard::slurm
